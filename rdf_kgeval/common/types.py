"""Types of arrays: one name for each kind of number."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt8s = NDArray[np.uint8]
UInt32s = NDArray[np.uint32]
"""Unsigned indices: compiled code need not check whether they count from the end."""
UInt64s = NDArray[np.uint64]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Records = NDArray[np.void]
"""Rows of several fields, which lie side by side in memory and are read together."""
