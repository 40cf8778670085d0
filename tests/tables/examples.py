"""Tables as text."""

#: Numbers, categories, missing and infinite values, an empty and a constant column, and classes.
CSV = """\
height,weight,color,empty,mostly,same,kind
1.0,2.0,red,,,7,a
1.5,2.5,blue,,1,7,a
2.0,,red,,,7,b
5.0,6.0,blue,,,7,b
5.5,inf,red,,,7,b
6.0,7.5,red,,3,7,
6.5,7.0,red,,,7,b
"""
