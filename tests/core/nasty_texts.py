"""Texts that tokenizers stumble over, and an alphabet to make more of them."""

import random

# One line an idea; what is not plain is written as an escape.
NASTY_TEXTS = (
    "",
    " ",
    "   \t\n ",
    "\u00a0\u2003\u3000",
    "The capital of France is [MASK].",
    # Accents, composed and combining, stacked, alone.
    "naïve Übergröße cafe\u0301 n\u0303 a\u0300\u0301\u0302\u0303x Łódź œ þ",
    "\u0301alone \u0301",
    "Zͫ̔a̴̡l̷g̸o̶",
    "İstanbul ISPARTA ıi ß ẞ ﬁ ﬃ ſ K Å",
    "ΑΘΗΝΑ σίσυφος ΣΊΣΥΦΟΣ ς",
    "ЁЖИК ёжик й И\u0306",
    "Ǆ ǅ ǆ Ω \u2126 \u212b",
    # CJK: plain, extension planes, compatibility, radicals, punctuation.
    "今天天气很好。",
    "我喜欢BERT模型，它有12层！",
    "\u3400\u4dbf \u4e00\u9fff \uf900\ufaff",
    "\U00020000\U0002a6df \U0002a700 \U0002b740 \U0002b820 \U0002f800 \U00030000",
    "⼀⽉ 、。「」『』【】〈〉・…—～",
    "ＦＵＬＬ　ｗｉｄｔｈ　１２３　！？",
    "ｶﾀｶﾅ ﾊﾟ カタカナ ひらがな がぎぐ か\u3099",
    "한국어 문장입니다. ㅎㅏㄴ \u1112\u1161\u11ab",
    # Other scripts.
    "हिन्दी में एक वाक्य क्षेत्र श्री",
    "தமிழ் မြန်မာ ភាសាខ្មែរ ລາວ",
    "مُحَمَّد ١٢٣ ـــ لا ﷺ ﷽ שָׁלוֹם ภาษาไทยไม่มี",
    "\u202eright to left\u202c \u2066isolate\u2069 \u200f\u200e",
    "አማርኛ ქართული Հայերեն ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ",
    "𝔊𝔬𝔱𝔥𝔦𝔠 𝓢𝓬𝓻𝓲𝓹𝓽 𝟙𝟚𝟛 𐐀𐐨 𐌰",
    # Emoji: plain, joined, with skin, flags, keycaps, variation selectors.
    "😀😃 I ❤️ BERT ✈︎ 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇨🇳🇬🇧 1️⃣",
    # Invisible characters.
    "nul\x00byte \x00 \x00\x00",
    "bell\x07 esc\x1b[31m del\x7f c1\x85\x9f",
    "\ufffd bad \ufffd\ufffd",
    "soft\u00adhyphen \u00ad",
    "zero\u200bwidth\u200cnon\u200djoiner \u2060\ufeff",
    "\ufeffbyte order mark",
    "tag \U000e0041\U000e007f private \ue000 \U000f0000 unassigned \u0378 \uffff",
    # White space of all kinds, and line ends.
    "tab\there\nnew\rcarriage\r\nboth",
    "line\u2028separator para\u2029graph vt\x0bff\x0cfs\x1cgs\x1d",
    "no\u00a0break\u202fspace thin\u2009hair\u200aogham\u1680ideographic\u3000end",
    # Masks, in every position and glued to words.
    "[MASK]",
    "[MASK] [MASK]  [MASK][MASK]",
    "glued[MASK]word [MASK]s un[MASK]",
    "[MASK], ([MASK]) \"[MASK]\" '[MASK]' [MASK]!",
    "[mask] [Mask] [ MASK ] [[MASK]] [MASK [MASK MASK] ###[MASK]##",
    "今天[MASK]气[MASK][MASK]好",
    "é[MASK]é \u0301[MASK]\u0301 \u200b[MASK]\u200b \x00[MASK]\x00",
    "[MASK]\u0301 [MA\u0301SK] [MA\u00adSK] [M\x00ASK]",
    # Other special tokens that somebody typed.
    "[CLS] a [SEP] b [PAD] [UNK]",
    "[CLS][SEP][PAD][UNK][MASK] [UNK]s [SEP]arate a[CLS]b [unk]",
    "[unused1] <s> </s> <mask> <pad> ##ing ## # ___",
    "[mask] __init__ snake_case [x] <|mask|> the cat and the dog and the bird",
    # Long.
    "a" * 100,
    "a" * 101,
    "\u0301" * 150,
    "é" * 101,
    "e\u0301" * 60,
    "中" * 150,
    "x" * 50 + "\u200b" * 60,
    "word " * 300,
    # Marks and marks.
    "https://example.org/path?q=[MASK]&lang=zh#top user@example.org",
    "<script>alert('x')</script> <b>bold</b> &amp; &lt; <!-- -->",
    "**bold** _em_ `code` # title | table | $x^2$ \\frac{1}{2}",
    "...!!!???,,,;;;:::---___===+++~~~",
    "¡¿«»„“”‘’‚‹›–—―…•‰′″§¶†‡ ©®™°±×÷ €£¥₹ ½¾²³ №",
    "don't I'm they're 'tis rock'n'roll O'Neill l’eau",
    "C++ C# .NET a/b a\\b a_b a-b a+b a=b a^b a~b a`b a|b",
    "٣٫١٤ ५ 五 Ⅷ ⅷ ① ⑴ ㊀",
)

_SPECIAL = ("[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[mask]", "##", "[", "]")
_BLANKS = (" ", "  ", "\t", "\n", "\u00a0", "\u2028", "\u3000", "\u200b")
_ODD = ("\x00", "\ufffd", "\u00ad", "\u0301", "\u0308", "\u200d", "\ufe0f", "İ", "ß")


def _any_character(rng):
    """Any code point of Unicode but half a surrogate pair."""
    top = rng.choice((0x80, 0x250, 0x3000, 0xA000, 0x10000, 0x20000, 0x110000))
    code = rng.randrange(top)
    return chr(code) if not 0xD800 <= code < 0xE000 else "a"


def random_texts(count, seed):
    """Texts of up to 40 parts out of everything."""
    rng = random.Random(seed)
    pools = (
        lambda: rng.choice(_SPECIAL),
        lambda: rng.choice(_BLANKS),
        lambda: rng.choice(_ODD),
        lambda: rng.choice(NASTY_TEXTS)[:12],
        lambda: chr(rng.randrange(0x20, 0x7F)),
        lambda: _any_character(rng),
        lambda: _any_character(rng),
    )
    return tuple(
        "".join(rng.choice(pools)() for _ in range(rng.randrange(1, 40)))
        for _ in range(count)
    )
