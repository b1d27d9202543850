package transcript

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

func show(key string) string {
	if key == "agent:main:main" || key == "global" {
		return "main"
	}
	return key
}

func TestAppend(t *testing.T) {
	x4000, marker := strings.Repeat("x", 4000), `\n…(truncated)…`
	tests := []struct {
		name, in, want string
		flags          Flags
	}{
		{"untouched", `{"role":"user","content":"hi \u00e9\n","timestamp":1,"id":"a","more":[1,null,{"x":true}]}`, "", Flags{}},
		{"white space", `{ "role" : "user" , "content" : [ ] }`, `{"role":"user","content":[]}`, Flags{}},
		{"members of the message", `{"details":{"a":1},"role":"assistant","usage":{"totalTokens":5},"cost":1,"content":"x"}`, `{"role":"assistant","content":"x"}`, Flags{}},
		{"escaped name", `{"d\u0065tails":1,"role":"user"}`, `{"role":"user"}`, Flags{}},
		{"members of an argument stay", `{"content":[{"type":"toolCall","arguments":{"details":1,"usage":2,"cost":3,"signature":"s"}}]}`, "", Flags{}},
		{"all members removed", `{"usage":1}`, `{}`, Flags{}},

		{"thinking", `{"content":[{"type":"thinking","thinking":"hm","thinkingSignature":"AAAA","signature":"BBBB"}]}`, `{"content":[{"type":"thinking","thinking":"hm"}]}`, Flags{}},
		{"redacted thinking", `{"content":[{"type":"redacted_thinking","data":"AAAA"}]}`, `{"content":[{"type":"redacted_thinking"}]}`, Flags{}},
		{"text signature", `{"content":[{"textSignature":"A","type":"text","text":"x"}]}`, `{"content":[{"type":"text","text":"x"}]}`, Flags{}},
		{"call signature", `{"content":[{"type":"toolCall","id":"1","name":"x","arguments":{},"thoughtSignature":"A"}]}`, `{"content":[{"type":"toolCall","id":"1","name":"x","arguments":{}}]}`, Flags{}},
		{"a signature of another block stays", `{"content":[{"type":"document","signature":"Ann"}]}`, "", Flags{}},

		{"image", `{"content":[{"type":"image","data":"QUJD","mimeType":"image/png"}]}`, `{"content":[{"type":"image","mimeType":"image/png","omitted":true,"bytes":4}]}`, Flags{Truncated: true}},
		{"image, type last", `{"content":[{"data":"QUJD","type":"image"}]}`, `{"content":[{"type":"image","omitted":true,"bytes":4}]}`, Flags{Truncated: true}},
		{"image, only data", `{"content":{"data":"QUJD","type":"image"}}`, `{"content":{"type":"image","omitted":true,"bytes":4}}`, Flags{Truncated: true}},
		{"image with source", `{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJDRA=="}}]}`,
			`{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png"},"omitted":true,"bytes":8}]}`, Flags{Truncated: true}},
		{"image of a URL", `{"content":[{"type":"image","source":{"type":"url","url":"https://x.y/z.png"}}]}`, "", Flags{}},
		{"image, omitted before", `{"content":[{"type":"image","omitted":true,"bytes":9}]}`, "", Flags{}},
		{"image already omitted", `{"content":[{"type":"image","omitted":false,"data":"QQ==","bytes":1}]}`, `{"content":[{"type":"image","omitted":true,"bytes":4}]}`, Flags{Truncated: true}},
		{"image in a tool result", `{"content":[{"type":"tool_result","content":[{"type":"image","data":"QQ=="}]}]}`, `{"content":[{"type":"tool_result","content":[{"type":"image","omitted":true,"bytes":4}]}]}`, Flags{Truncated: true}},
		{"image, escaped data", `{"content":[{"type":"image","data":"a\/b"}]}`, `{"content":[{"type":"image","omitted":true,"bytes":3}]}`, Flags{Truncated: true}},

		{"secret in a text", `{"content":"token=abc"}`, `{"content":"token=***"}`, Flags{Redacted: true}},
		{"secret in a block", `{"content":[{"type":"text","text":"a \"password\": \"x\"\n"}]}`, `{"content":[{"type":"text","text":"a \"password\": \"***\"\n"}]}`, Flags{Redacted: true}},
		{"secret in thinking", `{"content":[{"type":"thinking","thinking":"token=abc"}]}`, `{"content":[{"type":"thinking","thinking":"token=***"}]}`, Flags{Redacted: true}},
		{"secret in an argument", `{"content":[{"type":"toolCall","arguments":{"env":[{"cmd":"token=abc"}]}}]}`, `{"content":[{"type":"toolCall","arguments":{"env":[{"cmd":"token=***"}]}}]}`, Flags{Redacted: true}},
		{"secret by name", `{"content":[{"type":"toolCall","arguments":{"apiKey":"abc","passwords":1,"password":["a","b"],"headers":{"Authorization":"Bearer abc"}}}]}`,
			`{"content":[{"type":"toolCall","arguments":{"apiKey":"***","passwords":1,"password":["***","***"],"headers":{"Authorization":"Bearer ***"}}}]}`, Flags{Redacted: true}},
		{"numeric password", `{"content":[{"arguments":{"password":123456,"token":5}}]}`, `{"content":[{"arguments":{"password":"***","token":5}}]}`, Flags{Redacted: true}},
		{"session keys stay", `{"content":[{"type":"toolCall","arguments":{"sessionKey":"agent:main:main","limit":5}}]}`, "", Flags{}},
		{"secret in an unknown member", `{"note":"token=abc"}`, `{"note":"token=***"}`, Flags{Redacted: true}},
		{"secret in a name", `{"a":{"ghp_abcdefghijklmnopqrstuvwxyz":1,"b":2}}`, `{"a":{"b":2}}`, Flags{Redacted: true}},
		{"ids stay", `{"id":"call_1|fc_2","role":"user","type":"x","content":[{"type":"toolCall","id":"token-ring"}],"toolCallId":7,"timestamp":null}`, "", Flags{}},
		{"secret in an id", `{"id":"token=abc","toolCallId":{"password":"x"}}`, `{"id":"token=***","toolCallId":{"password":"***"}}`, Flags{Redacted: true}},
		{"long id", `{"toolCallId":"` + x4000 + `y"}`, `{"toolCallId":"` + x4000 + marker + `"}`, Flags{Truncated: true}},
		{"secret in provenance", `{"provenance":{"sourceSessionKey":"token=abc"}}`, `{"provenance":{"sourceSessionKey":"token=***"}}`, Flags{Redacted: true}},

		{"secret by an outer name", `{"a":{"password":{"value":"abc","min":8,"user":"bob","more":[{"x":"abc"}]}}}`, `{"a":{"password":{"value":"***","min":8,"user":"bob","more":[{"x":"***"}]}}}`, Flags{Redacted: true}},
		{"schema of a secret", `{"properties":{"token":{"type":"string","description":"The API token"}}}`, "", Flags{}},
		{"outer name not a secret's", `{"arguments":{"value":"abc","keys":{"a":"b"}}}`, "", Flags{}},
		{"credentials", `{"credentials":{"region":"eu-1","password":"abc","id":"aB3dE5gH7jK9mN1pQ3s5","value":"aB3dE5gH7jK9mN1pQ3s5"}}`, `{"credentials":{"region":"eu-1","password":"***","id":"aB3dE5gH7jK9mN1pQ3s5","value":"***"}}`, Flags{Redacted: true}},
		{"list of names and values", `{"env":[{"name":"DB_PASSWORD","value":"abc"},{"value":"abc","key":"api_key"},{"header":"Authorization","value":"Bearer abc"},{"name":"HOME","value":"/root"}]}`,
			`{"env":[{"name":"DB_PASSWORD","value":"***"},{"value":"***","key":"api_key"},{"header":"Authorization","value":"Bearer ***"},{"name":"HOME","value":"/root"}]}`, Flags{Redacted: true}},
		{"list of arguments", `{"args":["x","--password","abc","--token","--verbose","abc","--name","bob"]}`, `{"args":["x","--password","***","--token","--verbose","abc","--name","bob"]}`, Flags{Redacted: true}},
		{"lines of a key", `{"lines":["-----BEGIN PRIVATE KEY-----","MIIEvQIBADANBgkqhkiG9w0","","AbCd==","-----END PRIVATE KEY-----","AbCd"]}`,
			`{"lines":["-----BEGIN PRIVATE KEY-----","…redacted…","","…redacted…","-----END PRIVATE KEY-----","AbCd"]}`, Flags{Redacted: true}},
		{"not lines of a key", `{"lines":["-----BEGIN PRIVATE KEY-----","is how it begins","AbCd"]}`, "", Flags{}},

		{"thought signature", `{"content":[{"type":"text","text":"x","thought_signature":"A"}]}`, `{"content":[{"type":"text","text":"x"}]}`, Flags{}},
		{"reasoning", `{"content":[{"type":"reasoning","summary":[],"encrypted_content":"A"},{"type":"x","encrypted_content":"A"}]}`, `{"content":[{"type":"reasoning","summary":[]},{"type":"x","encrypted_content":"A"}]}`, Flags{}},
		{"image_url", `{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ==","detail":"low"}}]}`, `{"content":[{"type":"image_url","image_url":{"detail":"low"},"omitted":true,"bytes":26}]}`, Flags{Truncated: true}},
		{"image_url elsewhere", `{"content":[{"type":"image_url","image_url":{"url":"https://x.y/z.png"}}]}`, "", Flags{}},
		{"input_image", `{"content":[{"type":"input_image","image_url":"data:image/png;base64,QQ=="}]}`, `{"content":[{"type":"input_image","omitted":true,"bytes":26}]}`, Flags{Truncated: true}},
		{"source.url", `{"content":[{"type":"image","source":{"type":"url","url":"data:image/png;base64,QQ=="}}]}`, `{"content":[{"type":"image","source":{"type":"url"},"omitted":true,"bytes":26}]}`, Flags{Truncated: true}},
		{"image.data", `{"content":[{"type":"image","image":{"data":"QQ==","format":"png"}}]}`, `{"content":[{"type":"image","image":{"format":"png"},"omitted":true,"bytes":4}]}`, Flags{Truncated: true}},

		{"4000 characters", `{"content":"` + x4000 + `"}`, "", Flags{}},
		{"4001 characters", `{"content":"` + x4000 + `y"}`, `{"content":"` + x4000 + marker + `"}`, Flags{Truncated: true}},
		{"4000 of two bytes", `{"content":"` + strings.Repeat("é", 4000) + `"}`, "", Flags{}},
		{"4001 of four bytes", `{"content":"` + strings.Repeat("😀", 4001) + `"}`, `{"content":"` + strings.Repeat("😀", 4000) + marker + `"}`, Flags{Truncated: true}},
		{"4001 escaped", `{"content":"` + strings.Repeat(`\ud83d\ude00`, 4001) + `"}`, `{"content":"` + strings.Repeat("😀", 4000) + marker + `"}`, Flags{Truncated: true}},
		{"4000 escaped", `{"content":"` + strings.Repeat(`\n`, 4000) + `"}`, "", Flags{}},
		{"truncated in an argument", `{"content":[{"arguments":{"a":["` + x4000 + `yy"]}}]}`, `{"content":[{"arguments":{"a":["` + x4000 + marker + `"]}}]}`, Flags{Truncated: true}},
		{"secret across the limit", `{"content":"` + x4000[:3990] + ` token=abcdefghijklmnopqrstuvwxyz"}`, `{"content":"` + x4000[:3990] + ` token=` + marker + `"}`, Flags{Truncated: true, Redacted: true}},
		{"secret beyond the limit", `{"content":"` + x4000 + ` token=abc"}`, `{"content":"` + x4000 + marker + `"}`, Flags{Truncated: true}},
		{"masked before the limit", `{"content":"token=` + x4000 + ` end"}`, `{"content":"token=xxxxxx…xxxx end"}`, Flags{Redacted: true}},
		{"mask longer than the rest", `{"content":"` + x4000[:3992] + ` token=a"}`, `{"content":"` + x4000[:3992] + ` token=` + marker + `"}`, Flags{Truncated: true, Redacted: true}},

		{"S1.2 provenance", `{"role":"user","provenance":{"kind":"inter_session","sourceSessionKey":"agent:main:main","sourceTool":"sessions_send"}}`,
			`{"role":"user","provenance":{"kind":"inter_session","sourceSessionKey":"main","sourceTool":"sessions_send"}}`, Flags{}},
		{"S1.3 provenance", `{"provenance":{"sourceSessionKey":"global"}}`, `{"provenance":{"sourceSessionKey":"main"}}`, Flags{}},
		{"provenance not an object", `{"provenance":"x","a":{"provenance":{"sourceSessionKey":"global"}}}`, "", Flags{}},
	}
	for _, tt := range tests {
		t.Run("S3.4 "+tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			got, flags := New(show).Append([]byte("x"), &abi.Message{JSON: []byte(tt.in)})
			if string(got) != "x"+want || flags != tt.flags {
				t.Errorf("\n  in %.300s\n got %.300s %+v\nwant %.300s %+v", tt.in, got[1:], flags, want, tt.flags)
			}
		})
	}
}

func TestAppendTruncated(t *testing.T) {
	long := strings.Repeat("x", 3999)
	tests := []struct {
		name, in string
		host     []abi.Truncation // what the host truncated
		want     string
		flags    Flags
	}{
		{"image", `{"content":[{"type":"text","text":"x"},{"type":"image","data":"QUJD"}]}`, []abi.Truncation{{Path: "/content/1/data", Bytes: 90000}},
			`{"content":[{"type":"text","text":"x"},{"type":"image","omitted":true,"bytes":90000}]}`, Flags{Truncated: true}},
		{"image with source", `{"content":[{"type":"image","source":{"data":"QUJD"}}]}`, []abi.Truncation{{Path: "/content/0/source/data", Bytes: 90000}},
			`{"content":[{"type":"image","source":{},"omitted":true,"bytes":90000}]}`, Flags{Truncated: true}},
		{"a member that is left out", `{"details":{"a~/b":["x"]},"content":"x"}`, []abi.Truncation{{Path: "/details/a~0~1b/0", Bytes: 90000}}, `{"content":"x"}`, Flags{}},
		{"a signature", `{"content":[{"type":"thinking","signature":"x"}]}`, []abi.Truncation{{Path: "/content/0/signature", Bytes: 90000}}, `{"content":[{"type":"thinking"}]}`, Flags{}},
		{"name with the same prefix", `{"details":1,"detailsOf":"x"}`, []abi.Truncation{{Path: "/detailsOf", Bytes: 90000}}, `{"detailsOf":"x"}`, Flags{Truncated: true}},
		{"masked below the limit", `{"content":"token=` + long + `"}`, []abi.Truncation{{Path: "/content", Bytes: 90000}}, `{"content":"token=xxxxxx…xxxx"}`, Flags{Truncated: true, Redacted: true}},
		{"emptied by the host", `{"role":"toolResult","timestamp":7}`, []abi.Truncation{{Path: "", Bytes: 9000000}},
			`{"role":"toolResult","timestamp":7,"content":[{"type":"text","text":"[message of 9000000 bytes left out: too large to show]"}],"omitted":true,"bytes":9000000}`, Flags{Truncated: true}},
	}
	for _, tt := range tests {
		t.Run("S3.4 "+tt.name, func(t *testing.T) {
			got, flags := New(show).Append(nil, &abi.Message{JSON: []byte(tt.in), Truncations: tt.host})
			if string(got) != tt.want || flags != tt.flags {
				t.Errorf("\n got %.300s %+v\nwant %.300s %+v", got, flags, tt.want, tt.flags)
			}
		})
	}
}

func TestAppendPlaceholder(t *testing.T) {
	in := `{"content":"x","role":"user","id":"a\"b","timestamp":"2026-01-01"}`
	want := `{"role":"user","id":"a\"b","timestamp":"2026-01-01","content":[{"type":"text","text":"[message of 66 bytes left out: too large to show]"}],"omitted":true,"bytes":66}`
	if got := AppendPlaceholder(nil, &abi.Message{JSON: []byte(in)}); string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for _, bad := range []string{``, `[]`, `{`, `{"role":`, `"x"`, `{"role":"user"} {}`} {
		got, flags := New(show).Append(nil, &abi.Message{JSON: []byte(bad)})
		if !json.Valid(got) || !strings.Contains(string(got), `"omitted":true`) || !flags.Truncated {
			t.Errorf("%q became %s", bad, got)
		}
	}
}

// The deepest message that a store may contain fits into a result.
func TestDepth(t *testing.T) {
	for _, unit := range [][2]string{{`[`, `]`}, {`{"a":`, `}`}, {`{"type":"x","content":[`, `]}`}} {
		for _, member := range []string{"content", "other", "provenance"} {
			n := 62 / len(strings.Map(brackets, unit[0]))
			doc := `{"` + member + `":` + strings.Repeat(unit[0], n) + `1` + strings.Repeat(unit[1], n) + `}`
			got, flags := New(show).Append(nil, &abi.Message{JSON: []byte(doc)})
			if err := jsonstrict.CheckDepth(got, maxDepth+2); err != nil {
				t.Errorf("%s: %v in %s", member, err, got)
			}
			if !flags.Truncated {
				t.Errorf("%s: not truncated: %s", member, got)
			}
		}
	}
}

func brackets(r rune) rune {
	if r == '{' || r == '[' {
		return r
	}
	return -1
}

func FuzzAppend(f *testing.F) {
	f.Add(`{"role":"user","content":[{"type":"image","data":"AA=="},{"type":"text","text":"token=abc\n"}]}`, "/content/0/data")
	f.Add(`{"usage":{},"content":"x"}`, "")
	f.Add(`{"env":[{"name":"password","value":"x"}],"token":{"a":["b"]},"args":["--token","x","-----BEGIN PRIVATE KEY-----","AAAA"]}`, "")
	f.Add(`{"env":[{"name":"pass:word","value":"x"}]}`, "")
	f.Add(`{"content":{"content":{"arguments":{"password":[1,"\ud83d\ude00"]}}}}`, "/a")
	f.Fuzz(func(t *testing.T, doc, path string) {
		m := &abi.Message{JSON: []byte(doc)}
		if path != "" {
			m.Truncations = []abi.Truncation{{Path: path, Bytes: 1 << 20}}
		}
		got, _ := New(show).Append(nil, m)
		if jsonstrict.Check(m.JSON) != nil {
			return
		}
		if err := jsonstrict.Check(got); err != nil {
			t.Fatalf("%s\nbecame %s: %v", doc, got, err)
		}
		again, flags := New(show).Append(nil, &abi.Message{JSON: got})
		if flags.Redacted {
			t.Fatalf("%s\nonce %s\n2nd  %s", doc, got, again)
		}
	})
}

func TestAdvance(t *testing.T) {
	for _, s := range []string{"", "abc", "aé😀b", strings.Repeat("é", 10)} {
		for n := range 12 {
			end := advance(s, 0, n)
			if want := min(n, utf8.RuneCountInString(s)); utf8.RuneCountInString(s[:end]) != want {
				t.Errorf("advance(%q, 0, %d) = %d", s, n, end)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	text := strings.Repeat(`All is well: the build passed, see \"log\".\n`, 10)
	m := &abi.Message{JSON: []byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"` + text + `","thinkingSignature":"` + strings.Repeat("A", 200) +
		`"},{"type":"text","text":"` + text + `"}],"usage":{"input":1,"output":2,"totalTokens":3},"timestamp":1700000000000}`)}
	s, buf := New(show), make([]byte, 0, 4096)
	b.SetBytes(int64(len(m.JSON)))
	for b.Loop() {
		s.Append(buf, m)
	}
}

// The members that a placeholder keeps contain no credentials.
func TestPlaceholderKeepsNoSecrets(t *testing.T) {
	m := &abi.Message{JSON: []byte(`{"role":"user","id":"ghp_0123456789abcdefghijABCDEFGHIJ012345","timestamp":"password=hunter2secretvalue"}`)}
	got := string(AppendPlaceholder(nil, m))
	if strings.Contains(got, "ghp_") || strings.Contains(got, "hunter2") || !strings.Contains(got, `"role":"user"`) {
		t.Errorf("S3.4 %s", got)
	}
}

func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"ééé":                     "ééé",
		"éééé":                    "ééé" + Marker,
		"ab\n":                    "ab\n",
		"password=hunter2hunter2": "pas" + Marker,
		"exit status 1":           "exi" + Marker,
	} {
		if got := Excerpt(text, 3); got != want {
			t.Errorf("Excerpt(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Excerpt("login failed: password=hunter2hunter2, giving up", 2000); got != "login failed: password=***, giving up" {
		t.Errorf("S3.4 %q", got)
	}
}
