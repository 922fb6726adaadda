"""hkt from Python, by ctypes and numpy: kappa and inertia of queries and keys, certificates, trained models.

    import hkt
    hkt.kappa(q, k, causal=True)         # of the scores q k^T / sqrt(p); q, k [n, p]
    hkt.inertia(q, k)                    # of their symmetric part
    hkt.certify(a)                       # what is proved about the sign of a symmetric matrix
    with hkt.Model("best.safetensors") as m:
        m.forward([3, 1, 4, 1, 5]), m.heads([3, 1, 4, 1, 5])

The library is found by its name, or is $HKT_LIBRARY. Functions raise hkt.Error with the library's message.
"""

import collections
import ctypes
import os

import numpy as np

_lib = ctypes.CDLL(os.environ.get("HKT_LIBRARY", "libhkt.so.0"))
_lib.hkt_error.restype = _lib.hkt_library_version.restype = _lib.hkt_library_commit.restype = ctypes.c_char_p
_lib.hkt_psd_verdict_name.restype = ctypes.c_char_p

_size, _double, _pointer = ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p
version, commit = _lib.hkt_library_version().decode(), _lib.hkt_library_commit().decode()

Inertia = collections.namedtuple("Inertia", "positive negative zero lowest highest negative_mass")
Kurtosis = collections.namedtuple("Kurtosis", "n mean variance skewness kappa excess")
Certificate = collections.namedtuple("Certificate", "verdict delta quotient error")
Head = collections.namedtuple("Head", "layer level head q k level_weight causal")


class Error(Exception):
    """The message of the library; `status` is its number."""

    def __init__(self, status):
        super().__init__(_lib.hkt_error().decode())
        self.status = status


def _call(function, *arguments):
    status = getattr(_lib, function)(*arguments)
    if status != 0:
        raise Error(status)


def _struct(name, fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _values(s):
    return [getattr(s, name) for name, _ in s._fields_]


_Kurtosis = _struct("_Kurtosis", [(f, _double) for f in Kurtosis._fields])
_Inertia = _struct("_Inertia", [(f, _size) for f in Inertia._fields[:3]] + [(f, _double) for f in Inertia._fields[3:]])
_Certificate = _struct("_Certificate", [("verdict", ctypes.c_int)] + [(f, _double) for f in Certificate._fields[1:]])
_View = _struct("_View", [(f, _size) for f in ("layer", "level", "head", "n", "p", "ld")]
                + [("q", ctypes.POINTER(_double)), ("k", ctypes.POINTER(_double)), ("level_weight", _double),
                   ("causal", ctypes.c_bool)])
_Visit = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, ctypes.POINTER(_View))
_Shape = _struct("_Shape", [(f, _size) for f in (
    "vocab", "classes", "max_len", "d_model", "heads", "layers", "head_width", "levels", "stride", "conv_width",
    "ffn_mult", "tensors", "parameters")] + [("hybrid", ctypes.c_bool), ("causal", ctypes.c_bool),
                                             ("fusion", ctypes.c_char_p)])


def _matrix(a):
    a = np.ascontiguousarray(a, dtype=np.float64)
    if a.ndim != 2:
        raise ValueError("expected a matrix, found %d dimensions" % a.ndim)
    return a


def _data(a):
    return a.ctypes.data_as(_pointer)


def _queries_keys(q, k):
    q, k = _matrix(q), _matrix(k)
    if q.shape != k.shape:
        raise ValueError("expected q and k of one shape, found %s and %s" % (q.shape, k.shape))
    n, p = q.shape
    return q, k, (_size(n), _size(p), _data(q), _size(p), _data(k), _size(p))


def scores(q, k):
    """q k^T / sqrt(p), [n, n]."""
    q, k, arguments = _queries_keys(q, k)
    out = np.empty((len(q), len(q)))
    _call("hkt_heads_scores", *arguments, _data(out))
    return out


def kurtosis(q, k, causal=False):
    """Moments of the scores (those with j <= i when causal): Kurtosis."""
    q, k, arguments = _queries_keys(q, k)
    out = _Kurtosis()
    _call("hkt_kurtosis_head", *arguments, ctypes.c_bool(causal), ctypes.byref(out))
    return Kurtosis(*_values(out))


def kappa(q, k, causal=False):
    """m4 / (3 m2^2) of the scores: 1 for a Gaussian."""
    return kurtosis(q, k, causal).kappa


def inertia(q, k):
    """Signs of the eigenvalues of the symmetric part of the scores: Inertia."""
    q, k, arguments = _queries_keys(q, k)
    out = _Inertia()
    _call("hkt_inertia_head", *arguments, ctypes.byref(out))
    return Inertia(*_values(out))


def certify(a):
    """What is proved about the sign of a symmetric matrix: Certificate. verdict: definite, shifted (eigenvalues are at
    least -delta), negative (an x with x^T A x < 0), inconclusive, refused (not symmetric or not finite)."""
    a = _matrix(a)
    if a.shape[0] != a.shape[1]:
        raise ValueError("expected a square matrix, found %s" % (a.shape,))
    out = _Certificate()
    _call("hkt_psd_certify", _size(len(a)), _data(a), ctypes.byref(out))
    return Certificate(_lib.hkt_psd_verdict_name(out.verdict).decode(), *_values(out)[1:])


class Model:
    """A checkpoint. `shape` has its numbers by name."""

    def __init__(self, path):
        self._model = _pointer()
        _call("hkt_model_open", ctypes.byref(self._model), os.fsencode(path))
        shape = _Shape()
        _call("hkt_model_get_shape", self._model, ctypes.byref(shape))
        self.shape = dict(zip((f for f, _ in _Shape._fields_), _values(shape)), fusion=shape.fusion.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        _lib.hkt_model_close(self._model)
        self._model = _pointer()

    def forward(self, tokens):
        """Logits [classes] of one sequence."""
        tokens = np.ascontiguousarray(tokens, dtype=np.int32)
        out = np.empty(self.shape["classes"])
        _call("hkt_model_forward", self._model, _size(1), ctypes.byref(_size(len(tokens))), _data(tokens), _data(out))
        return out

    def heads(self, tokens):
        """Queries and keys [n, p] of every head for one sequence: a list of Head."""
        tokens, found = np.ascontiguousarray(tokens, dtype=np.int32), []

        def visit(_, view):
            v = view.contents

            def rows(pointer):
                return np.array([pointer[i * v.ld:i * v.ld + v.p] for i in range(v.n)])

            found.append(Head(v.layer, v.level, v.head, rows(v.q), rows(v.k), v.level_weight, v.causal))
            return 0

        _call("hkt_heads_walk", self._model, _size(len(tokens)), _data(tokens), _Visit(visit), None)
        return found
