"""The distribution ``forebay``: what it holds and what it needs.

Beam workers install the same file (``--setup_file``), so it reads nothing outside its own directory, and the packages
are listed by hand: a worker must not receive a folder because it happened to lie there.
"""

from pathlib import Path

from setuptools import setup

PACKAGES = [
    "forebay",
    "materialized",
    "pipelines",
    "trainer",
    "trainer.engines",
    "transforms",
    "transforms.operators",
]

# What every verb needs, `forebay plan` included: no TensorFlow, no Beam.
BASE = [
    "networkx>=3.4,<4",
    "numpy>=1.26,<3",
    "pyarrow>=18,<26",
    "pydantic>=2.9,<3",
    "PyYAML>=6.0.1,<7",
    "rich>=13.9,<16",
]

# What training needs beside TensorFlow itself, which comes from one of two distributions.
TRAINING = [
    "keras>=3.10,<4",
    "scikit-learn>=1.6,<2",
    "scipy>=1.14,<2",
    "tensorboard>=2.20,<2.22",
]

EXTRAS = {
    "pipelines": [
        "apache-beam>=2.70,<3",
        "tensorflow>=2.21,<2.22",
        "tensorflow-transform>=1.21,<1.22",
        "tfx-bsl>=1.21,<1.22",
    ],
    "trainer": ["tensorflow>=2.20,<2.22", *TRAINING],
    # Instead of `trainer`, never beside it: tensorflow-tpu brings its own `tensorflow` folder. Its last version is the
    # one pinned here; libtpu from 0.0.34 on lacks a symbol that it loads.
    "tpu": ["tensorflow-tpu==2.20.0", "libtpu>=0.0.14,<=0.0.27", *TRAINING],
    "dev": [
        "hypothesis>=6.115,<7",
        "mypy>=1.18,<3",
        "pytest>=8.3,<10",
        "pytest-xdist>=3.6,<4",
        "ruff>=0.14,<1",
        "setuptools>=77",
        "types-networkx>=3.4,<4",
        "types-PyYAML>=6.0.12,<7",
    ],
}

setup(
    name="forebay",
    version="0.1.0",
    description="Computes each feature that many ranking models share once, keeps it, and trains every model from it",
    long_description=(Path(__file__).parent / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=PACKAGES,
    package_data={package: ["py.typed"] for package in PACKAGES},
    install_requires=BASE,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["forebay = forebay.main:main"]},
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
