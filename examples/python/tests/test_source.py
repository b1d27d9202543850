import unittest

from source import elements, members


class Source(unittest.TestCase):
    def test_members(self):
        text = ' { "a" : 1e-07 , "b,":[ 1, 2 ],"c":{"}": "\\u00e9"}\n}\n'
        self.assertEqual(members(text), {"a": "1e-07", "b,": "[ 1, 2 ]", "c": '{"}": "\\u00e9"}'})

    def test_elements(self):
        found = elements('[ 1.0, "]" ,{"a":[]}, null]')
        self.assertEqual(found, ["1.0", '"]"', '{"a":[]}', "null"])

    def test_empty(self):
        self.assertEqual(members("{ }"), {})
        self.assertEqual(elements("[\n]"), [])
