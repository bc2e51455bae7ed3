"""The line for whoever watches."""

from evalsampling.telemetry.progress import Progress


def test_progress_tells_share_rate_and_time_left() -> None:
    progress = Progress("prepare", "rows")
    assert "looking" in progress.line()
    progress.expect(400)
    progress.advance(100)
    for words in ("prepare:", "25%", "100 rows", "/s", "s left"):
        assert words in progress.line()
