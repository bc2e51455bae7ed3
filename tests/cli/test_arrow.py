"""Arrow without pandas in processes of the command line."""

import subprocess
import sys


def test_arrays_load_no_pandas_and_frames_are_still_to_be_had() -> None:
    program = (
        "import sys\n"
        "from evalsampling.cli.arrow import postpone_pandas\n"
        "postpone_pandas()\n"
        "import pyarrow as pa\n"
        "table = pa.table({'a': pa.array([1, 2])})\n"
        "assert table['a'].to_numpy().tolist() == [1, 2]\n"
        "assert 'pandas' not in sys.modules\n"
        "frame = pa.table({'a': [1.5, None]}).to_pandas()\n"
        "assert pa.Table.from_pandas(frame)['a'].to_pylist() == [1.5, None]\n"
        "import pandas\n"
        "assert pa.array(pandas.Series([float('nan')])).to_pylist() == [None]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
