"""Tell a definition from an excerpt that only stands for it."""

from __future__ import annotations

import ast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_stub(tree: ast.Module | None, entry: str) -> bool:
    """True when the last definition of `entry` at top level leaves out its work.

    That is a body of nothing but `pass`, a docstring or `raise NotImplementedError`, a class all of whose methods are
    that, or an `...` standing as a statement anywhere in it. What is assigned or imported is no stub.
    """
    defined = [
        statement
        for statement in (tree.body if tree else ())
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)) and statement.name == entry
    ]
    return bool(defined) and (_is_empty(defined[-1]) or any(map(_is_ellipsis, ast.walk(defined[-1]))))


def _is_empty(definition: ast.stmt) -> bool:
    match definition:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return all(map(_does_nothing, body))
        case ast.ClassDef(body=body):
            methods = [statement for statement in body if isinstance(statement, _FUNCTIONS)]
            return all(map(_is_empty, methods)) if methods else all(map(_does_nothing, body))
        case _:
            return False


def _does_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case _:
            return False


def _is_ellipsis(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=value)):
            return value is ...
        case _:
            return False
