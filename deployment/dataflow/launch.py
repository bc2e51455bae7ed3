"""What the launcher of a Flex Template runs: the pipeline its image is for.

The pipeline is imported, not run as a file, so that Beam pickles its functions by their names.
Workers get the image that this file is in.
"""

import importlib
import os
import sys

from evalsampling.pipelines.running import run_as_program


def main() -> None:
    """Build the job of a pipeline from the arguments the launcher gives."""
    pipeline = importlib.import_module(f"evalsampling.pipelines.{os.environ['PIPELINE']}")
    pipeline.main([f"--sdk_container_image={os.environ['IMAGE']}", *sys.argv[1:]])


if __name__ == "__main__":
    run_as_program(main)
