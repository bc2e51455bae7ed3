"""Arrow without pandas in processes of the command line."""

import subprocess
import sys


def run(program: str) -> None:
    begin = "import sys\nfrom evalsampling.cli.arrow import postpone_pandas\npostpone_pandas()\n"
    subprocess.run([sys.executable, "-c", begin + program], check=True)


def test_arrays_load_no_pandas() -> None:
    run(
        "import pyarrow as pa\n"
        "table = pa.table({'a': pa.array([1, 2])})\n"
        "assert table['a'].to_numpy().tolist() == [1, 2]\n"
        "assert 'pandas' not in sys.modules\n"
    )


def test_frames_are_still_to_be_had() -> None:
    run(
        "import pyarrow as pa\n"
        "frame = pa.table({'a': [1.5, None]}).to_pandas()\n"
        "assert pa.Table.from_pandas(frame)['a'].to_pylist() == [1.5, None]\n"
        "import pandas\n"
        "assert pa.array(pandas.Series([float('nan')])).to_pylist() == [None]\n"
    )
