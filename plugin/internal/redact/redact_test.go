package redact

import "testing"

const pemBody = "MIIEpAIBAAKCAQEA7bq3kq2Wm1cT0X9xq0cXl3bq3kq2Wm1cT0X9xq0cXl3bq3kq\nWm1cT0X9xq0cXl3bq3kq2Wm1cT0X9xq0cXl3bq3kq==\n"

func TestAppend(t *testing.T) {
	alnum36 := "abcdefghijABCDEFGHIJ0123456789abcdef"
	tests := []struct{ name, in, want string }{
		// Assignments.
		{"env", "OPENAI_API_KEY=abcdef", "OPENAI_API_KEY=***"},
		{"env, long", "OPENAI_API_KEY=" + alnum36, "OPENAI_API_KEY=abcdef…cdef"},
		{"env of any name", "MY_KEY=supersecret", "MY_KEY=***"},
		{"bare key", "KEY=abcdefgh", "KEY=***"},
		{"export, quoted", `export GH_TOKEN='abc def'; ls`, `export GH_TOKEN='***'; ls`},
		{"short token", "token=abc", "token=***"},
		{"17 characters", "token=abcdefghijklmnopq", "token=***"},
		{"18 characters", "token=abcdefghijklmnopqr", "token=abcdef…opqr"},
		{"yaml", "api_key: abc", "api_key: ***"},
		{"two words", "The API key: abc123", "The API key: ***"},
		{"dashes", "x-api-key: abc123", "x-api-key: ***"},
		{"password", "password: hunter2", "password: ***"},
		{"numeric password", "password=123456", "password=***"},
		{"password with punctuation", "password=a,b;c! next", "password=*** next"},
		{"camel case", "dbPassword = hunter2", "dbPassword = ***"},
		{"compound", "dbpassword=hunter2", "dbpassword=***"},
		{"acronym", "someAPIKey=hunter2", "someAPIKey=***"},
		{"numbered", "api_key_2=hunter2", "api_key_2=***"},
		{"qualified", "SECRET_KEY_BASE=hunter2", "SECRET_KEY_BASE=***"},
		{"smtp_pass", "smtp_pass=hunter2", "smtp_pass=***"},
		{"go", `password := "hunter2"`, `password := "***"`},
		{"ruby", `:password => "hunter2"`, `:password => "***"`},
		{"comparison", `if token == "hunter2" {`, `if token == "***" {`},
		{"subscript", `env["API_TOKEN"] = "hunter2"`, `env["API_TOKEN"] = "***"`},
		{"query", "https://x.y/z?token=abc&q=1", "https://x.y/z?token=***&q=1"},
		{"not ASCII", "password=пароль-пароль-пароль", "password=***"},
		{"flag", "curl --api-key hunter2 -v", "curl --api-key *** -v"},
		{"flag, quoted", `login --password "a b c"`, `login --password "***"`},
		{"flag with =", "login --password=hunter2", "login --password=***"},
		{"two", "a_token=x b_token=y", "a_token=*** b_token=***"},
		{"undecoded line end", `line\ntoken=abc\nnext`, `line\ntoken=***\nnext`},
		{"end of sentence", "The token: abcd. Then", "The token: ***. Then"},
		// JSON.
		{"json", `{"password": "hunter2", "user": "bob"}`, `{"password": "***", "user": "bob"}`},
		{"json, escaped quote", `{"password": "hun\"ter2"}`, `{"password": "***"}`},
		{"json in json", `{\"password\":\"hunter2\",\"user\":\"bob\"}`, `{\"password\":\"***\",\"user\":\"bob\"}`},
		{"python", `{'apiKey': 'abc'}`, `{'apiKey': '***'}`},
		{"json, unterminated", `"secret": "hunter2`, `"secret": "***`},
		{"json, spaces", `"secret" : "correct horse battery"`, `"secret" : "***"`},
		{"looks secret", `"key": "aB3dE5gH7jK9mN1pQ3s5"`, `"key": "aB3dE5…Q3s5"`},
		{"docker", `"auth": "dXNlcjpwYXNzd29yZDEyMw=="`, `"auth": "***"`},
		// Headers.
		{"authorization", "Authorization: Bearer abc", "Authorization: Bearer ***"},
		{"authorization, basic", "authorization: Basic dXNlcjpwYXNz", "authorization: Basic ***"},
		{"authorization, json", `"Authorization": "Bearer abcdefghijklmnopqrstuv"`, `"Authorization": "Bearer abcdef…stuv"`},
		{"authorization, no scheme", "Authorization: abcdef", "Authorization: ***"},
		{"curl", `-H "Authorization: Bearer abcdef123456"`, `-H "Authorization: Bearer ***"`},
		{"bearer", "send bearer abcd1234 there", "send bearer *** there"},
		{"bearer, long", "Bearer abcdefghijklmnopqrstuvwxyz", "Bearer abcdef…wxyz"},
		// Known tokens.
		{"sk-", "use sk-proj-abcdefghij0123456789 now", "use sk-pro…6789 now"},
		{"ghp_", "ghp_" + alnum36, "ghp_ab…cdef"},
		{"gho_", "gho_" + alnum36, "gho_ab…cdef"},
		{"github_pat_", "github_pat_11ABCDEFG0abcdefghij_klmnop", "github…mnop"},
		{"xoxb-", "xoxb-123456789012-abcdefghij", "xoxb-1…ghij"},
		{"xapp-", "xapp-1-A0123456789-abcdefghij", "xapp-1…ghij"},
		{"AKIA", "id AKIAIOSFODNN7EXAMPLE.", "id AKIAIO…MPLE."},
		{"AIza", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSy…stuv"},
		{"glpat-", "glpat-abcdefghij0123456789", "glpat-…6789"},
		{"npm_", "npm_" + alnum36, "npm_ab…cdef"},
		{"hf_", "hf_" + alnum36, "hf_abc…cdef"},
		{"pypi-", "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDA", "pypi-A…wMDA"},
		{"telegram", "bot 123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc", "bot 123456…K-bc"},
		{"telegram, url", "https://api.telegram.org/bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/getMe", "https://api.telegram.org/bot123456…K-bc/getMe"},
		{"jwt", "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.abc-DEF_123, ok", "jwt eyJhbG…_123, ok"},
		{"stripe", "sk_live_abcdefghij0123456789", "sk_liv…6789"},
		{"gsk_", "gsk_" + alnum36, "gsk_ab…cdef"},
		{"pplx-", "pplx-" + alnum36, "pplx-a…cdef"},
		{"escaped line end before", `text\nghp_` + alnum36, `text\nghp_ab…cdef`},
		{"in quotes", `"ghp_` + alnum36 + `"`, `"ghp_ab…cdef"`},
		{"suffix without a separator", "ghp_" + alnum36 + "-xoxb-1234567890abc", "ghp_ab…0abc"},
		{"url password", "postgres://bob:hunter2@db/x", "postgres://bob:***@db/x"},
		// PEM.
		{"pem", "a\n-----BEGIN RSA PRIVATE KEY-----\n" + pemBody + "-----END RSA PRIVATE KEY-----\nb",
			"a\n-----BEGIN RSA PRIVATE KEY-----…redacted…-----END RSA PRIVATE KEY-----\nb"},
		{"pem, truncated", "-----BEGIN PRIVATE KEY-----\n" + pemBody + "some prose", "-----BEGIN PRIVATE KEY-----…redacted…\nsome prose"},
		{"pem, truncated in a line", "-----BEGIN PRIVATE KEY-----\n" + pemBody[:90], "-----BEGIN PRIVATE KEY-----…redacted…"},
		{"pem, encrypted, truncated", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n" + pemBody, "-----BEGIN RSA PRIVATE KEY-----…redacted…\n"},
		{"pem in json", `{"private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"}`,
			`{"private_key": "-----BEGIN PRIVATE KEY-----…redacted…-----END PRIVATE KEY-----\n"}`},
		{"pem in json, truncated", `{"k": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nMIIE"}`, `{"k": "-----BEGIN PRIVATE KEY-----…redacted…"}`},
		{"pgp", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----…redacted…-----END PGP PRIVATE KEY BLOCK-----"},
		{"two pems", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----…redacted…\n-----BEGIN PRIVATE KEY-----…redacted…-----END PRIVATE KEY-----"},
	}
	for _, tt := range tests {
		t.Run("S3.4 "+tt.name, func(t *testing.T) { wantMasked(t, tt.in, tt.want) })
	}
}

// wantMasked checks that masking in gives want, and that masking want changes nothing.
func wantMasked(t *testing.T, in, want string) {
	t.Helper()
	got, found := Append(nil, in)
	if string(got) != want || !found {
		t.Errorf("S3.4\n  in %q\n got %q\nwant %q", in, got, want)
	}
	if again, found := Append(nil, string(got)); string(again) != string(got) || found {
		t.Errorf("masked twice: %q", again)
	}
}

// wantUnchanged checks that a text contains no credential.
func wantUnchanged(t *testing.T, in string) {
	t.Helper()
	if got, found := Append(nil, in); string(got) != in || found {
		t.Errorf("S3.4 %q was masked: %q", in, got)
	}
}

func TestAppendUnchanged(t *testing.T) {
	for _, in := range []string{
		"", "=", ":", "--", "a=", "token=", "token:", "token: ", `"token": ""`,
		"tokens: 512", "tokens=512", "max_tokens=100", `"totalTokens": 1234`, "token: 512", "token count: 1.2k", "max_token=5k",
		"keyboard=german", "monkey: banana", "turkey=bird1234567890123456", "hotkey: ctrl+shift+p",
		"key: main", "key=agent:main:main", "sessionKey: agent:main:telegram:group:-100123", "session_key=550e8400-e29b-41d4-a716-446655440000",
		"key: 550e8400-e29b-41d4-a716-446655440000", "primary_key=user_id_and_tenant_id", "PRIMARY_KEY=user_identifier", "sort_key: createdAt2024",
		"key: my-feature-flag-2024-rollout", "public_key=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA", "SSH_KEY_PATH=/home/bob/.ssh/id_rsa",
		"cacheKey: 3f2a9c81d4e5b6a7c8d9e0f1a2b3c4d5", "press key: Enter", "key: value", "the key is under the mat",
		"password: required", "password=$DB_PASSWORD", "password=${DB_PASSWORD}", "token: <your-token>", "token={{ token }}", "token=%TOKEN%",
		"token = getToken()", "password = os.environ[\"X\"]", "apiKey: process.env.OPENAI_API_KEY", "token=token", "token: none",
		"nextPageToken: CAUQAA1234567890abcdef", "page_token=abc123", "eos_token: </s>", "pad_token=[PAD]",
		"std::token::type", "secretary: Ann", "tokenizer=bpe", "password_hash_rounds=12", "passwordless: yes", "bypass: on", "first_pass=done", "pass: 12", "authorize: maybe",
		"the bearer of this letter", "bearer certificate", "Bearer token", "risk-analysis-of-the-2024-report", "task-12345678901234567890", "sk-estimator-html-representation",
		"ask-me-anything-12345678901", "AKIA", "AKIAIOSFODNN7EXAMPLEX", "XAKIAIOSFODNN7EXAMPLE", "eyJhbGciOi", "eyJhbGciOiJIUzI1NiJ9 eyJ", "npm_config_registry_url_something_long",
		"12:30:45", "2024-01-01T12:30:45", "123456:short", "localhost:8080:AAEhBOweik6ad9r", "https://example.com/path?x=1", "https://user@example.com", "http://a:8080/x@y",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "files with -----BEGIN PRIVATE KEY----- are keys",
		"---\ntitle: x\n---", "a -- b", "git log --oneline key", "--token", "--token --verbose", "--token $TOKEN",
		"der Schlüssel: Ärger", "ключ: значение", "emoji 😀: 😀", "func key(a, b) {}", "x := a[key]", `{"type":"object","properties":{"token":{"type":"string"}}}`,
	} {
		wantUnchanged(t, in)
	}
}

func TestMember(t *testing.T) {
	tests := []struct {
		name, value string
		want        string // "": no credential
	}{
		{"password", "hunter2", "***"},
		{"password", "123456", "***"},
		{"apiKey", "abc", "***"},
		{"api_key", "a b", "***"},
		{"OPENAI_API_KEY", "abc", "***"},
		{"SOME_KEY", "abcdefgh", "***"},
		{"token", "abcdefghijklmnopqr", "abcdef…opqr"},
		{"Authorization", "Bearer abcdefgh", "Bearer ***"},
		{"x-api-key", "abc", "***"},
		{"key", "aB3dE5gH7jK9mN1pQ3s5", "aB3dE5…Q3s5"},
		{"password", "", ""},
		{"password", "***", ""},
		{"password", "abcdef…opqr", ""},
		{"token", "$TOKEN", ""},
		{"token", "12", ""},
		{"key", "Enter", ""},
		{"sessionKey", "agent:main:main", ""},
		{"sessionKey", "aB3dE5gH7jK9mN1pQ3s5", ""},
		{"tokens", "abc", "***"},
		{"pass", "abc", "***"},
		{"secrets", "12", ""},
		{"pwd", "/srv/app", ""},
		{"Authorization", "Negotiate YIIZabc", "Negotiate ***"},
		{"password", "abcdefghijklmnopqr", "***"},
		{"text", "hunter2", ""},
	}
	for _, tt := range tests {
		m, ok := Member(tt.name, tt.value)
		got := ""
		if ok {
			got = tt.value[:m.Start] + string(m.AppendMask(nil, tt.value)) + tt.value[m.End:]
		}
		if got != tt.want {
			t.Errorf("S3.4 Member(%q, %q) = %q; want %q", tt.name, tt.value, got, tt.want)
		}
	}
	if !HidesNumbers("password") || !HidesNumbers("clientSecret") || HidesNumbers("token") || HidesNumbers("count") {
		t.Error("S3.4 HidesNumbers")
	}
}

// Next ignores a credential that starts after its limit.
func TestNextLimit(t *testing.T) {
	const text = "token=abc token=def"
	if m, ok := Next(text, 0, len("token=")); ok {
		t.Errorf("Next = %+v", m)
	}
	if m, ok := Next(text, 0, len("token=a")); !ok || text[m.Start:m.End] != "abc" {
		t.Errorf("Next = %+v, %v", m, ok)
	}
	if m, ok := Next(text, 9, len(text)); !ok || text[m.Start:m.End] != "def" {
		t.Errorf("Next = %+v, %v", m, ok)
	}
}
