"""The line for whoever watches."""

from evalsampling.telemetry.progress import Progress


def test_progress_tells_share_rate_and_time_left() -> None:
    progress = Progress("prepare", "rows")
    assert "looking" in progress.line()
    progress.expect(400)
    progress.advance(100)
    for words in ("prepare:", "25%", "100 of 400 rows", "/s", "s left"):
        assert words in progress.line()


def test_rows_that_are_read_twice_are_not_counted_twice() -> None:
    progress = Progress("prepare", "rows")
    progress.expect(400, times=2)
    progress.advance(100)
    assert " 12%  pass 1 of 2, 100 of 400 rows, " in progress.line()
    progress.advance(400)
    assert " 62%  pass 2 of 2, 100 of 400 rows, " in progress.line()
    progress.advance(300)
    assert "100%  pass 2 of 2, 400 of 400 rows, " in progress.line()
