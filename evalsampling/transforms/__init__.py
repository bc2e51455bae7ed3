"""Apache Beam transforms: each wires a stage of `preparation.plan`.

Elements are batches of Arrow columns (`evalsampling.pool.PoolBatch`), never single rows, and
the summaries made of them.
"""

from evalsampling.transforms.cells import AssignCells as AssignCells
from evalsampling.transforms.cells import CountSlices as CountSlices
from evalsampling.transforms.cells import CutStrata as CutStrata
from evalsampling.transforms.cells import SumCells as SumCells
from evalsampling.transforms.cells import SummarizePool as SummarizePool
from evalsampling.transforms.coders import BatchCoder as BatchCoder
from evalsampling.transforms.engine import BeamEngine as BeamEngine
from evalsampling.transforms.metering import read_meters as read_meters
from evalsampling.transforms.pool import FetchCells as FetchCells
from evalsampling.transforms.pool import FetchPool as FetchPool
from evalsampling.transforms.pool import InspectPool as InspectPool
from evalsampling.transforms.pool import ScorePool as ScorePool
from evalsampling.transforms.reserve import CheckHeld as CheckHeld
from evalsampling.transforms.reserve import CheckIds as CheckIds
from evalsampling.transforms.reserve import DrawReserve as DrawReserve
from evalsampling.transforms.samples import PoissonSample as PoissonSample
from evalsampling.transforms.samples import ReplacementSample as ReplacementSample
from evalsampling.transforms.sums import SumFn as SumFn
