"""Modules that the standard library imports lazily. In a component there is nothing
left to import by then, so it is imported while that is built.
"""

import _strptime  # noqa: F401  `datetime.strptime`
import ast  # noqa: F401  tracebacks
import copy  # noqa: F401  `UserDict.copy`
import encodings.ascii
import encodings.base64_codec
import encodings.cp1252
import encodings.hex_codec
import encodings.idna
import encodings.iso8859_15
import encodings.latin_1
import encodings.punycode
import encodings.utf_8_sig
import encodings.utf_16
import encodings.utf_16_be
import encodings.utf_16_le
import encodings.utf_32  # noqa: F401
import heapq  # noqa: F401  `Counter.most_common`
import unicodedata  # noqa: F401  `urllib.parse`
import warnings  # noqa: F401  many

HINT = "; import it at the top of a file: a component can import nothing once it is built"
