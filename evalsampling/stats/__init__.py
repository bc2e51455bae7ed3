"""Pure statistics: numpy and scipy only, arrays in, small frozen results out."""
