"""What a reader is shown: numbers in words, pictures and a page, from results alone."""
