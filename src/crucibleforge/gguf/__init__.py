"""Facts from the header of a GGUF file: what the model is, and how many bytes a token reads.

Covers versions 2 and 3, little-endian, in one file or split in parts; the tensors' values are never read. The layout
is that of ggml's docs/gguf.md. A file may be hostile: every count is bounded and nothing is allocated by its word.
"""

from crucibleforge.gguf._cache import KvCache
from crucibleforge.gguf._facts import Gguf, facts
from crucibleforge.gguf._reader import printable
from crucibleforge.gguf._tensors import Weights

__all__ = ["Gguf", "KvCache", "Weights", "facts", "printable"]
