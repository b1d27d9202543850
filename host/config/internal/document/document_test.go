package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// outline formats a tree with the line and column of every value.
func outline(d *Document, n *Node) string {
	l, c := d.Position(n.Offset)
	at := fmt.Sprintf("@%d:%d", l, c)
	switch n.Kind {
	case Object:
		var b []string
		for _, m := range n.Members {
			b = append(b, m.Name+"="+outline(d, m.Value))
		}
		return "{" + strings.Join(b, " ") + "}" + at
	case Array:
		var b []string
		for _, i := range n.Items {
			b = append(b, outline(d, i))
		}
		return "[" + strings.Join(b, " ") + "]" + at
	case String:
		return fmt.Sprintf("%+q", n.String) + at
	case Number:
		return fmt.Sprint(n.Number) + at
	case Bool:
		return fmt.Sprint(n.Bool) + at
	}
	return "null" + at
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"scalar", `1`, `1@1:1`},
		{"empty", `{}`, `{}@1:1`},
		{"names", `{a:1,'b':2,"c":3,$d_é:4,\u0065f:5}`, `{a=1@1:4 b=2@1:10 c=3@1:16 $d_é=4@1:23 ef=5@1:33}@1:1`},
		{"duplicate names are kept", `{a:1,a:2}`, `{a=1@1:4 a=2@1:8}@1:1`},
		{"duplicate in another spelling", `{a:1,'\x61':2}`, `{a=1@1:4 a=2@1:13}@1:1`},
		{"lines", "{\n  // note: {x}\n  a: /* , */ [\n    true, null,\n  ],\r\n}\n", `{a=[true@4:5 null@4:11]@3:14}@1:1`},
		{"columns are characters", `{'é': 'x'}`, `{é="x"@1:7}@1:1`},
		{"numbers", `[0x10, .5, 5., +1, -2e3]`, `[16@1:2 0.5@1:8 5@1:12 1@1:16 -2000@1:20]@1:1`},
		{"infinite and NaN", `[Infinity,-Infinity,NaN]`, `[+Inf@1:2 -Inf@1:11 NaN@1:21]@1:1`},
		{"strings", `['a\'b', "c//d", 'e\
f', "\\u\u00e9"]`, `["a'b"@1:2 "c//d"@1:10 "ef"@1:18 "\\u\u00e9"@2:5]@1:1`},
		{"spaces", "\ufeff{\u00a0a\u2003:\u20281}", "{a=1@1:8}@1:2"},
		{"comment without end of line", `{} // end`, `{}@1:1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(d, d.Root); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1, column 1: unexpected end of input"},
		{"truncated", "{\n a: 1,\n", "line 3, column 1: unexpected end of input"},
		{"trailing", "{}\n{}", "line 2, column 1: unexpected trailing character '{'"},
		{"no colon", "{\n  a 1}", "line 2, column 6: expected colon after object key"},
		{"no comma", "{a:1 b:2}", "line 1, column 7: expected comma in object"},
		{"empty item", "[1,,2]", "line 1, column 4: unexpected ','"},
		{"wrong closing bracket", "[1}", "line 1, column 4: expected comma in array"},
		{"open comment", "{}/*", "unterminated block comment"},
		{"not UTF-8", "{a:\n'\xff'}", "line 2, column 2: this is not valid UTF-8"},
		{"octal", "{a:01}", "octal"},
		{"huge number", "{a:1e999}", "invalid number"},
		{"escaped pair", `{a:"x\ud83d\ude00"}`, "line 1, column 6: this escape is half of a surrogate pair; write the character itself"},
		{"too deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), "line 1, column 65: the values are nested more than 64 levels deep"},
		{"far too deep", strings.Repeat("[", 500_000), "exceeded max nesting depth"},
		{"too long", strings.Repeat(" ", MaxBytes+1), "the text is 1048577 bytes long; the limit is 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %q, want %q in it", e, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"{}", "[1,2,]", "{a:'b',/**/c:\"d\"//\n}", "{\\u0061:0x1}", "'\\", "\ufeff1", "{a:\n[{b:NaN}]}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if d.Root == nil {
			t.Fatal("neither tree nor error")
		}
		outline(d, d.Root)
	})
}
