package redact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLinear repeats the worst case of every search so often that quadratic time would
// exceed the time limit of the test. It asserts that masks do not enlarge a text much.
func TestLinear(t *testing.T) {
	for _, unit := range []string{"=", ":", "-", "a", "key=", "token:", "-----BEGIN PRIVATE KEY-----", "://", "://a:", "eyJ", "-eyJ", "bearer-", "\\", "\\\"", "token=\\\"", "password=\"",
		" ", "Bearer ", "--token ", "1", "123456:", "key: \"", "sk-", "-----", "api key ", "a.", "KEY=a", "\"a\": ",
		"token={{", "password=$(", "pwd=/", "pwd: /a ", "password: |\n {{\n ", "password:\n ", "password:\n  password:\n", "<password>", "</password>", "authorization: A b ", "authorization: foo=\"",
		"password: a b ", "://a:b@", "https://hooks.slack.com/services/", "-u a:", "curl -u ", "login a password ", "abcdefghijklmnopqrstuvwx.abcdef.", "dapi", "：", "**password**: ", "password: a = ", "A_TOKEN=\"\n"} {
		text := strings.Repeat(unit, (1<<18)/len(unit))
		got, _ := Append(nil, text)
		if len(got) > 3*len(text) {
			t.Errorf("%q: %d bytes became %d", unit, len(text), len(got))
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"token=abc", `{"password": "x\"y"}`, "Authorization: Bearer abcdefgh1", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
		"ghp_abcdefghijklmnopqrst xoxb-1234567890", "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc", "https://a:b@c", `\"secret\":\"x\"`, "--password x", "API key: abc",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.abc", "token=abcdef…wxyz=1",
		"password: |\n  a\n  b", "password:\n  a", "**password:** a b c", "x: string = b\"a\"", "<token>a</token>", "Authorization: Digest a=\"b\", c", "A_SECRET=a&b\"c", "https://a:b@c/@d",
		"curl -u a:b", "sshpass -p a", "login a password b", "Authorization:AA A", "password：a", "-----BEGIN PRIVATE KEY-----\n> AAAA\n1: BBBB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, found := Append(nil, text)
		if !found && string(got) != text {
			t.Fatal("changed without a match")
		}
		if utf8.ValidString(text) && !utf8.Valid(got) {
			t.Fatalf("%q became invalid: %q", text, got)
		}
		if len(got) > 3*len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(got))
		}
		if again, _ := Append(nil, string(got)); string(again) != string(got) {
			t.Fatalf("not idempotent:\n  in %q\nonce %q\n2nd  %q", text, got, again)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog: a sentence, with a colon; and more. ", 50)
	buf := make([]byte, 0, 2*len(prose))
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		Append(buf, prose)
	}
}
