"""
How do I compare texts with a kernel?
=====================================

The n-gram kernel counts common substrings. From eight short sentences in each of five languages
kernel components separate English, German and Finnish and place Spanish and Italian close to each
other.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLDA, KernelPCA
from mercer.kernels import NGram
from mercer.plots import EmbeddingDisplay, GramDisplay

sentences = {
    "English": """the cat is sleeping on the warm roof
        we are going to the market in the morning
        the children have eaten all the apples
        where is the train to the north
        it has been raining for three days
        she writes a long letter to her brother
        the bread is still warm and smells good
        they have bought the house by the river""",
    "German": """die katze schläft auf dem warmen dach
        wir gehen am morgen auf den markt
        die kinder haben alle äpfel gegessen
        wo ist der zug nach norden
        es regnet schon seit drei tagen
        sie schreibt ihrem bruder einen langen brief
        das brot ist noch warm und riecht gut
        sie haben das haus am fluss gekauft""",
    "Spanish": """el gato duerme sobre el tejado caliente
        vamos al mercado por la mañana
        los niños se han comido todas las manzanas
        dónde está el tren para el norte
        lleva tres días lloviendo
        ella escribe una carta larga a su hermano
        el pan todavía está caliente y huele bien
        han comprado la casa junto al río""",
    "Italian": """il gatto dorme sul tetto caldo
        andiamo al mercato di mattina
        i bambini hanno mangiato tutte le mele
        dove è il treno per il nord
        piove da tre giorni
        lei scrive una lunga lettera a suo fratello
        il pane è ancora caldo e profuma di buono
        hanno comprato la casa vicino al fiume""",
    "Finnish": """kissa nukkuu lämpimällä katolla
        menemme aamulla torille
        lapset ovat syöneet kaikki omenat
        missä on juna pohjoiseen
        on satanut kolme päivää
        hän kirjoittaa pitkän kirjeen veljelleen
        leipä on vielä lämmintä ja tuoksuu hyvältä
        he ovat ostaneet talon joen varrelta""",
}
texts = [line.strip() for block in sentences.values() for line in block.splitlines()]
languages = np.repeat(list(sentences), 8)
kernel = NGram((2, 3), normalize=True)

# %%
# The kernel matrix, ordered by language. Spanish and Italian are more similar than other pairs;
# Finnish is similar to none.

display = GramDisplay.from_gram(kernel(texts), labels=languages, title="common 2-grams and 3-grams")
display.image_.set_clim(0, 0.4)
middles = 3.5 + 8 * np.arange(5)
display.ax_.set_xticks(middles, sorted(sentences), rotation=45)
display.ax_.set_yticks(middles, sorted(sentences))
display.ax_.set(xlabel="", ylabel="")
plt.show()

# %%
# The first two components.

pca = KernelPCA(6, kernel=kernel).fit(texts)
EmbeddingDisplay.from_estimator(pca, labels=languages)
plt.show()

# %%
# Kernel LDA with the same kernel predicts the language of new sentences.

model = KernelLDA(kernel=kernel).fit(texts, languages)
new = [
    "the dog waits in front of the door",
    "der hund wartet vor der tür",
    "el perro espera delante de la puerta",
    "il cane aspetta davanti alla porta",
    "koira odottaa oven edessä",
]
for sentence, language in zip(new, model.predict(new), strict=True):
    print(f"{language}: {sentence}")

# %%
# **Summary:** estimators need only a kernel. ``NGram`` is for texts; there are kernels for sets,
# graphs and tables, and kernels can be multiplied.
