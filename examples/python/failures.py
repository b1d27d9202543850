"""Shows how a step can fail, as exceptions, and that the plugin answers after each failure."""

import extism

import exact
import sample
from plugin import ROOT, ParleyError, Plugin, versions

HOSTILE = ROOT / "testdata/hostile/trap.wasm"


class StoreDown(Exception):
    pass


def store_down(**_):
    raise StoreDown("the store is down")


def trap():
    """The hostile module traps if its input contains a ^."""
    hostile = Plugin(HOSTILE)
    before = hostile.instance.id
    try:
        hostile.ask("call", sample.call(mark="^"), sample.FUNCTIONS)
    except extism.Error as error:
        print(f"extism.Error: {str(error).splitlines()[0]}")
    if hostile.instance.id == before:
        raise RuntimeError("the instance is still in use after its trap")
    answer = hostile.ask("call", sample.call(), sample.FUNCTIONS)
    print(f"a new instance of that module answers {exact.dumps(answer)}")


def host_function(plugin):
    try:
        plugin.ask("call", sample.call(), {"store.list": store_down})
    except StoreDown as error:
        print(f"StoreDown: {error}")


def unknown_tool(plugin):
    try:
        plugin.ask("call", sample.call(tool="sessions_lisp"), sample.FUNCTIONS)
    except ParleyError as error:
        print(f"ParleyError: code {error.code}, message: {error.message}")


def bad_argument(plugin):
    """A tool's failure is a result for the agent, not an exception."""
    answer = plugin.ask("call", sample.call(limit="many"), sample.FUNCTIONS)
    print(f"code {answer['code']}, result: {exact.dumps(answer['result'])}")


def still_answers(plugin):
    answer = plugin.ask("call", sample.call(), sample.FUNCTIONS)
    if answer["result"]["count"] != 1:
        raise RuntimeError(f"unexpected answer: {answer}")
    print("and the plugin still answers")


def main():
    print(versions())
    plugin = Plugin()
    trap()
    still_answers(plugin)
    host_function(plugin)
    still_answers(plugin)
    unknown_tool(plugin)
    still_answers(plugin)
    bad_argument(plugin)
    still_answers(plugin)


if __name__ == "__main__":
    main()
