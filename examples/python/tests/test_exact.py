import unittest

import exact


def difference(expected, actual):
    """Return the JSON Pointer of the first difference of two JSON texts, or None."""
    try:
        exact.compare(exact.loads(expected), exact.loads(actual))
    except exact.Difference as found:
        return found.pointer
    return None


class Compare(unittest.TestCase):
    def test_equal(self):
        for expected, actual in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("100", "1E+2"),
            ("0", "-0.0"),
            ("1e-7", "0.0000001"),
            ("9007199254740993", "9007199254740993.0"),
            ('{"a":1,"b":[true,null]}', '{"b":[true,null],"a":1}'),
            ('"é"', r'"\u00e9"'),
        ]:
            with self.subTest(expected=expected, actual=actual):
                self.assertIsNone(difference(expected, actual))

    def test_different(self):
        for expected, actual, pointer in [
            ("9007199254740993", "9007199254740992", ""),
            ("9007199254740993", "9007199254740992.0", ""),
            ("0.1", "0.1000000000000000055511151231257827", ""),
            ("1", "true", ""),
            ("0", "false", ""),
            ("0", "null", ""),
            ("1", '"1"', ""),
            ("[1,2]", "[2,1]", "/0"),
            ("[1]", "[1,2]", "/1"),
            ('{"a":[{"b":1}]}', '{"a":[{"b":2}]}', "/a/0/b"),
            ('{"a":null}', "{}", "/a"),
            ("{}", '{"a":null}', "/a"),
            ('{"a/b~":1}', '{"a/b~":2}', "/a~1b~0"),
            ("[]", "{}", ""),
        ]:
            with self.subTest(expected=expected, actual=actual):
                self.assertEqual(difference(expected, actual), pointer)

    def test_message_has_both_values(self):
        with self.assertRaises(exact.Difference) as caught:
            exact.compare({"a": [1]}, {})
        self.assertEqual(str(caught.exception), "/a: expected [1], got nothing")


class Dumps(unittest.TestCase):
    def test_round_trip(self):
        for text in [
            '{"a":[0.1000000000000000055511151231257827,9007199254740993,-0.5,1.0]}',
            '["é","\\"",true,false,null,{},[]]',
        ]:
            self.assertEqual(exact.dumps(exact.loads(text)), text)

    def test_json_only(self):
        for text in ["NaN", "[Infinity]", "-Infinity"]:
            with self.assertRaises(ValueError):
                exact.loads(text)
