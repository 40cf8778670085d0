"""
Can words be embedded without any features?
===========================================

Yes, by what they have in common. The n-gram kernel counts shared pieces of words. From the numbers
one to twenty in five languages, with no other knowledge, kernel components put each language in a
place of its own and related ones nearer.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLDA, KernelPCA
from mercer.kernels import NGram
from mercer.plots import EmbeddingDisplay, GramDisplay

words = {
    "English": """one two three four five six seven eight nine ten eleven twelve thirteen fourteen
        fifteen sixteen seventeen eighteen nineteen twenty""",
    "German": """eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
        fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig""",
    "Spanish": """uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce
        quince dieciséis diecisiete dieciocho diecinueve veinte""",
    "Italian": """uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici
        quattordici quindici sedici diciassette diciotto diciannove venti""",
    "Finnish": """yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen
        yksitoista kaksitoista kolmetoista neljätoista viisitoista kuusitoista seitsemäntoista
        kahdeksantoista yhdeksäntoista kaksikymmentä""",
}
texts = [word for language in words for word in words[language].split()]
languages = np.array([language for language in words for _ in words[language].split()])
kernel = NGram((1, 2, 3), normalize=True)

# %%
# The kernel matrix first, language by language: what words share.

GramDisplay.from_gram(kernel(texts), labels=languages, title="cosine of n-gram counts")
plt.show()

# %%
# The first two components of it.

pca = KernelPCA(6, kernel=kernel).fit(texts)
display = EmbeddingDisplay.from_estimator(pca, labels=languages)
for word in ("one", "eins", "uno", "yksi", "eighteen", "achtzehn", "dieciocho", "diciotto"):
    at = display.points[texts.index(word)]
    display.ax_.annotate(word, at, (4, 4), textcoords="offset points", fontsize="small")
plt.show()

# %%
# A discriminant on the same kernel guesses the language of words that it has not seen: five of
# seven right, from twenty words per language.

model = KernelLDA(kernel=kernel).fit(texts, languages)
new = ["hundred", "vierzig", "cincuenta", "cinquanta", "kymmenentuhatta", "treinta", "fünfundsechzig"]
for word, language in zip(new, model.predict(new), strict=True):
    print(f"{word}: {language}")

# %%
# **To remember:** a kernel is all that the estimators need. For texts it is ``NGram``; for sets,
# graphs and tables there are others, and they multiply.
