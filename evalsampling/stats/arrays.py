"""Types of arrays by what they hold."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
UInt64Array = npt.NDArray[np.uint64]
