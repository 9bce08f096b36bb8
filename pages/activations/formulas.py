"""Formulas of the activations page, in LaTeX. They read the same in any language."""

from __future__ import annotations

# f(x) and f′(x).
FORMULAS = {
    "sigmoid": (
        r"\sigma(x)=\frac{1}{1+e^{-x}}",
        r"\sigma'(x)=\sigma(x)\,\bigl(1-\sigma(x)\bigr)",
    ),
    "tanh": (r"\tanh x=\frac{e^{x}-e^{-x}}{e^{x}+e^{-x}}", r"\tanh' x=1-\tanh^2x"),
    "relu": (r"f(x)=\max(0,x)", r"f'(x)=\begin{cases}1&x>0\\0&x\le0\end{cases}"),
    "leaky_relu": (
        r"f(x)=\begin{cases}x&x>0\\\lambda x&x\le0\end{cases}",
        r"f'(x)=\begin{cases}1&x>0\\\lambda&x\le0\end{cases}",
    ),
    "prelu": (
        r"f(x)=\begin{cases}x&x>0\\a\,x&x\le0\end{cases}",
        r"\begin{aligned}\tfrac{\partial f}{\partial x}"
        r"&=\begin{cases}1&x>0\\a&x\le0\end{cases}\\[2ex]"
        r"\tfrac{\partial f}{\partial a}"
        r"&=\begin{cases}0&x>0\\x&x\le0\end{cases}\end{aligned}",
    ),
    "elu": (
        r"f(x)=\begin{cases}x&x>0\\\alpha\,(e^{x}-1)&x\le0\end{cases}",
        r"f'(x)=\begin{cases}1&x>0\\\alpha\,e^{x}&x\le0\end{cases}",
    ),
    "gelu": (
        r"\begin{aligned}f(x)&=x\,\Phi(x)\\&=\tfrac{x}{2}"
        r"\bigl[1+\operatorname{erf}\tfrac{x}{\sqrt2}\bigr]\end{aligned}",
        r"f'(x)=\Phi(x)+x\,\varphi(x)",
    ),
    "gelu_tanh": (
        r"\begin{aligned}f(x)&=\tfrac{x}{2}\,(1+\tanh u)\\"
        r"u&=\sqrt{\tfrac{2}{\pi}}\,(x+c\,x^3)\\c&=0.044715\end{aligned}",
        r"\begin{aligned}f'(x)=\;&\tfrac12(1+\tanh u)\\"
        r"&+\tfrac{x}{2}(1-\tanh^2u)\,u'\end{aligned}",
    ),
    "swish": (
        r"f(x)=x\,\sigma(\beta x)",
        r"\begin{aligned}f'(x)=\;&\sigma(\beta x)\\"
        r"&+\beta x\,\sigma'(\beta x)\end{aligned}",
    ),
}

# Each step of a derivation: the key of its sentence, and its formula. Tests check
# every one of these equations numerically.
GELU_STEPS = {
    "gelu_step_gate": (
        r"\begin{gathered}Z\sim\mathcal N(0,1)\\"
        r"m=\begin{cases}1&Z\le x\\0&Z>x\end{cases}\end{gathered}"
    ),
    "gelu_step_density": (
        r"\begin{gathered}\varphi(t)=\frac{1}{\sqrt{2\pi}}\,e^{-t^2/2}\\"
        r"\int_{-\infty}^{\infty}\varphi(t)\,dt=1\end{gathered}"
    ),
    "gelu_step_cumulative": r"\Phi(x)=P(Z\le x)=\int_{-\infty}^{x}\varphi(t)\,dt",
    "gelu_step_mean": (
        r"\begin{aligned}E[m\,x]&=\Phi(x)\cdot x+\bigl(1-\Phi(x)\bigr)\cdot0\\"
        r"&=x\,\Phi(x)=\operatorname{GELU}(x)\end{aligned}"
    ),
    "gelu_step_half": (
        r"\Phi(x)=\frac12+\int_{0}^{x}\frac{1}{\sqrt{2\pi}}\,e^{-t^2/2}\,dt"
    ),
    "gelu_step_substitution": (
        r"\begin{aligned}&\int_{0}^{x}\frac{1}{\sqrt{2\pi}}\,e^{-t^2/2}\,dt\\"
        r"&=\frac{1}{\sqrt{\pi}}\int_{0}^{x/\sqrt2}e^{-s^2}\,ds\end{aligned}"
    ),
    "gelu_step_erf": (
        r"\begin{gathered}\operatorname{erf}(u)"
        r"=\frac{2}{\sqrt\pi}\int_0^u e^{-s^2}\,ds\\"
        r"\Phi(x)=\frac12\Bigl[1+\operatorname{erf}\frac{x}{\sqrt2}\Bigr]"
        r"\end{gathered}"
    ),
    "gelu_step_result": (
        r"\operatorname{GELU}(x)"
        r"=\frac{x}{2}\Bigl[1+\operatorname{erf}\frac{x}{\sqrt2}\Bigr]"
    ),
    "gelu_step_derivative": (
        r"\begin{aligned}\operatorname{GELU}'(x)&=\Phi(x)+x\,\Phi'(x)\\"
        r"&=\Phi(x)+x\,\varphi(x)\end{aligned}"
    ),
}
TANH_STEPS = {
    "tanh_step_idea": (
        r"\begin{gathered}\operatorname{erf}\frac{x}{\sqrt2}\approx\tanh u(x)\\"
        r"u(x)=\sqrt{\tfrac{2}{\pi}}\,\bigl(x+c\,x^3\bigr)\end{gathered}"
    ),
    "tanh_step_erf": (
        r"\operatorname{erf}\frac{x}{\sqrt2}"
        r"=\sqrt{\tfrac{2}{\pi}}\,\Bigl(x-\frac{x^3}{6}+\frac{x^5}{40}-\dots\Bigr)"
    ),
    "tanh_step_tanh": r"\tanh u=u-\frac{u^3}{3}+\frac{2u^5}{15}-\dots",
    "tanh_step_insert": (
        r"\begin{aligned}&\tanh u(x)=\\&\sqrt{\tfrac{2}{\pi}}\,"
        r"\Bigl(x+\Bigl[c-\frac{2}{3\pi}\Bigr]x^3+\dots\Bigr)\end{aligned}"
    ),
    "tanh_step_equal": (
        r"\begin{gathered}c-\frac{2}{3\pi}=-\frac16\\"
        r"c=\frac{2}{3\pi}-\frac16=\frac{4-\pi}{6\pi}\\"
        r"=0.04553992\ldots\end{gathered}"
    ),
}


def matrix(rows: list[list[float]]) -> str:
    """A matrix, two digits after the point."""
    # "z": what rounds to zero has no sign.
    lines = r"\\".join("&".join(f"{cell:z.2f}" for cell in row) for row in rows)
    return rf"\begin{{pmatrix}}{lines}\end{{pmatrix}}"


def column(cells: list[float]) -> str:
    """A column vector, two digits after the point."""
    return matrix([[cell] for cell in cells])
