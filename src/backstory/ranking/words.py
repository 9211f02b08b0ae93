"""What BM25 sees of a text: its terms, made the same way from documents and from queries.

Pure. Engines split the result at blanks and do nothing else to it, so that every engine knows the
same words. Which texts are analysed, and what a match is worth, is left to others.
"""

import re
import unicodedata
from functools import lru_cache

from Stemmer import Stemmer

# Words that say how a sentence is built, not what it is about, with those that ask and with what an
# apostrophe leaves of a negation. Longer lists were measured and lose: with the rarer prepositions,
# conjunctions and adverbs, 179 words, BM25 finds less in chats (LoCoMo nDCG@10 .527 against .537,
# LongMemEval .684 against .688) and in code (CoSQA MRR .328 against .335); with none .497, .680 and
# .343. "may" is absent because dates are searched by the names of their months.
_STOP_WORDS = """
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
who whom whose what which when where why how
am is are was were be been being do does did doing done have has had having
can could will would shall should might must
ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren wouldn
and or but if so of at by for from in into on onto to with about as
"""
_STOPS = frozenset(_STOP_WORDS.split())

# Base64, hashes and minified code make longer ones; nobody searches by them.
_MAX_WORD = 64

# A name of many short words is still a name: sentences in snake_case run to 120 characters.
_MAX_NAME = 200

# Letters, digits and underscores; and the vowel signs of Indic scripts, which `\w` leaves out.
_IN_NAME = r"[\w\u0900-\u0963\u0966-\u0dff]"
_NAME = re.compile(
    rf"(?<!{_IN_NAME})({_IN_NAME}{{1,{_MAX_NAME}}}+)(?!{_IN_NAME})(?:['\u2019](?i:s|t|d|m|re|ve|ll)\b)?"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACCENT = re.compile("[\u0300-\u036f]")

# Scripts that put no blanks between words, where every character is a term: Thai and Lao, Myanmar,
# Khmer, kana, Han, Hangul, and the rarer Han characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\U00020000-\U0003ffff]"
)


def terms(text: str) -> str:
    """The search terms of a document or a query, in order, separated by blanks.

    Words are lower-cased, stripped of accents and stemmed as English; words without content are
    left out. A name of several parts gives itself and its parts, however it is written:
    `getUserName` and `get_user_name` are both "getusernam get user name".
    """
    plain = text if text.isascii() else _plain(text)
    return " ".join(filter(None, map(_terms_of_name, _NAME.findall(plain))))


def _plain(text: str) -> str:
    """The text with one spelling for each character: composed, wide and accented forms agree."""
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return _UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFC", bare))


# Texts repeat themselves: a name seen before costs 0.25 µs, a new one 3.3, of which a stem is 2.
@lru_cache(maxsize=32_768)
def _terms_of_name(name: str) -> str:
    pieces = [piece for piece in name.split("_") if len(piece) <= _MAX_WORD]
    words = [word for piece in pieces for word in _HUMP.split(piece) if word]
    whole = "".join(words)
    if len(words) > 1 and len(whole) <= _MAX_WORD:
        words.insert(0, whole)
    return " ".join(_stem(word) for word in map(str.casefold, words) if word not in _STOPS)


def _stem(word: str) -> str:
    # A stemmer for each word: it keeps its state in itself, and threads would share it.
    stem: str = Stemmer("english", 0).stemWord(word)
    return stem
