package redact

import (
	"strings"
	"testing"
)

// secretText is a secret that must be masked in every text below; *** marks its position in
// want.
const secretText = "hunter2secretvalue"

// withSecret returns s with a secret instead of §, and s with the mask instead of §.
func withSecret(s string) (in, want string) {
	return strings.ReplaceAll(s, "§", secretText), strings.ReplaceAll(s, "§", hidden)
}

func TestNames(t *testing.T) {
	for _, s := range []string{
		"pass=§", "pass:§", `{"pass":"§"}`, `{"pw": "§"}`, "pw: §", "passwd=§", "PASSWD: §",
		"passwords: §", `"passwords":"§"`, "secrets=§", `"client_secrets": "§"`,
		"DB_PASSWORD_OLD=§", "DB_PASSWORD_NEW=§", "SECRET_PROD=§", "PASSWORD_LIVE_2=§", "passwordTest: §", "db.password.staging=§", "PASSWORD_BACKUP_PRIMARY=§", "password_dev: §",
	} {
		in, want := withSecret(s)
		wantMasked(t, in, want)
	}
	for _, tt := range [][2]string{
		{"api_keys: " + secretText, "api_keys: hunter…alue"}, {`"tokens": "` + secretText + `"`, `"tokens": "hunter…alue"`}, {"API_KEY_PROD=" + secretText, "API_KEY_PROD=hunter…alue"},
		{"token_new: abc1", "token_new: ***"}, {`"credentials": "aB3dE5gH7jK9mN1pQ3s5"`, `"credentials": "***"`},
	} {
		wantMasked(t, tt[0], tt[1])
	}
	for _, in := range []string{
		"--- PASS: TestFoo (0.00s)", "All tests pass: great", "pass: 12", "pass=12", `{"pass": 3}`, "passes: 12 of 14", "secrets: 3", "tokens: 512", "keys: a", "new: x", "test: x", "BACKUP=x",
		"PWD=/home/user/project", "OLDPWD=/srv", "pwd: /srv/app", `pwd=C:\Users\bob`, "private_key: /etc/ssl/key.pem", "ssh_key=~/.ssh/id_ed25519", `"ssh_key": "/home/bob/.ssh/id_rsa"`, "key=./a/b",
	} {
		wantUnchanged(t, in)
	}
}

func TestExtents(t *testing.T) {
	for _, s := range []string{
		// Declarations and prefixes of string literals.
		`const password: string = "§"`, `db_password: str = "§"`, `val dbPassword: String = "§"`, `password: Optional[str] = '§',`, `secret: string | null = "§";`,
		`password = b"§"`, `password = f'§'`, `password = @"§"`, `password = $"§"`, `password = rb"§"`, `password = ("§")`, `password = """§"""`, "password: r#\"§\"#",
		// Lines below.
		"password: |\n  §", "password: |-\n  §\n  §2\nuser: bob"[:len("password: |-\n  §")], "password: >\n    §\nuser: bob", "password:\n  §\nuser: bob", "a:\n  password:\n    \"§\"\n  b: c", "secret: |\r\n  §\r\nx: y",
		// Markdown and other punctuation.
		"**Password:** §", "**Password**: §", "__Password:__ §", "*Password*: §", "user[password]=§", "user[password]=§&x=1", "password：§", "password ＝ §",
		"<password>§</password>", "<db:password>§</db:password>", "<clientSecret>§</clientSecret>",
		// Environment files.
		"x\nexport DB_PASSWORD=§&ssw0rd<>'|;x\nB=1", "DB_PASSWORD=§&ss\nB=1", `DB_PASSWORD=§\nB=1`,
		// Passphrases.
		"password: §", "- password: §\nnext", "Passphrase: § §", `echo "password: §"`, "password: § # prod", "password: § is the one", "Password: §. Then", "password: §\nplain=visible",
	} {
		in, want := withSecret(s)
		want = strings.NewReplacer("***&ssw0rd<>'|;x", "***", "***&ss", "***", "*** ***", "***").Replace(want)
		wantMasked(t, in, want)
	}
	for _, tt := range [][2]string{
		{"password: correct horse battery staple", "password: ***"}, {"passphrase: correct-horse battery\nnext", "passphrase: ***\nnext"}, {"password: a1 b2\\nnext", "password: ***\\nnext"},
		{"password: |\n  one\n  two\n\n  three\nuser: bob", "password: |\n  ***\nuser: bob"}, {"val apiKey: String = \"" + secretText + "\"", "val apiKey: String = \"hunter…alue\""},
		{`token = b"abc"`, `token = b"***"`}, {`{\\\"password\\\":\\\"hunter2\\\",\\\"a\\\":1}`, `{\\\"password\\\":\\\"***\\\",\\\"a\\\":1}`},
		{`\\\\\\\"password\\\\\\\":\\\\\\\"hunter2\\\\\\\"`, `\\\\\\\"password\\\\\\\":\\\\\\\"***\\\\\\\"`}, {"DB_PASSWORD=p&ssw0rd", "DB_PASSWORD=***"},
	} {
		wantMasked(t, tt[0], tt[1])
	}
	for _, in := range []string{
		"password:\n  from: vault", "password:\n- a", "password:\nnext", "secret:\n  # none", "password: |\n", "password: string", "password: string;", "const password: string = getPassword()",
		"m[token] = value", "<password>", "<password></password>", "use <token> in <b>x</b>", "a <b> c", "全角：文字", "token: expires in 3 days", "Tokens: used 12k of 200k", "invalid token: unexpected end", "Unexpected token: '<'",
		"Password: must be at least 8 characters", "Reset password: click the link", "Password: enter yours", "token: value of the header", "**Password:**", "password: ***", "password:***",
		"TOKEN=$(cat f)", `password = """`,
	} {
		wantUnchanged(t, in)
	}
}

func TestHeaders(t *testing.T) {
	for _, s := range []string{
		"Authorization: Negotiate §", "Authorization: NTLM § x\nHost: y", `-H "Authorization: Vendor §" https://x.y`, `"Authorization": "Negotiate § a b"`,
		`Authorization: AWS4-HMAC-SHA256 §, SignedHeaders=host, Signature=abc` + "\nHost: x", `Authorization: Digest §="a", b="c d", e=f` + "\nHost: x", `{"x":"Authorization: Negotiate §"}`, "Proxy-Authorization: Basic §",
	} {
		in, want := withSecret(s)
		for _, rest := range []string{` x`, ` a b`, `, SignedHeaders=host, Signature=abc`, `="a", b="c d", e=f`} {
			want = strings.ReplaceAll(want, hidden+rest, hidden)
		}
		wantMasked(t, in, want)
	}
	for _, scheme := range []string{"SSWS", "Key", "JWT", "OAuth", "Bearer", "bot"} {
		wantMasked(t, "Authorization: "+scheme+" "+secretText+"\nHost: x", "Authorization: "+scheme+" hunter…alue\nHost: x")
	}
	for _, in := range []string{"Authorization: required for all", "Authorization: handled by the proxy", "authorization: Bearer", "Authorization: Bearer $TOKEN", "bearer authentication-and-authorization-2023", "the bearer token-based-authentication-flow",
		"Bearer internationalization-of-everything"} {
		wantUnchanged(t, in)
	}
}

func TestURLs(t *testing.T) {
	for _, tt := range [][2]string{
		{"postgres://bob:p@ss/w,rd@db/x", "postgres://bob:***@db/x"}, {"redis://:hunter2secretvalue12@h", "redis://:***@h"}, {"(https://a:b@c/d) x@y", "(https://a:***@c/d) x@y"},
		{"https://abcdefghij0123456789@git.example.com/x", "https://abcdef…6789@git.example.com/x"},
		{"https://hooks.slack.com/services/" + "T01234567/B01234567/abcdefghijklmnopqrstuvwx", "https://hooks.slack.com/services/T01234…uvwx"},
		{"https://discord.com/api/webhooks/" + "123456789012345678/abcdefghijklmnop ok", "https://discord.com/api/webhooks/123456…mnop ok"},
	} {
		wantMasked(t, tt[0], tt[1])
	}
	for _, in := range []string{"http://a:8080/x@y", "https://example.com/a:b@c", "https://example.com/?mail=a@b.c", "https://bob@example.com", "https://a:$PASS@b", "https://hooks.slack.com/services/", "https://discord.com/api/webhooks/123/x"} {
		wantUnchanged(t, in)
	}
}

func TestCommands(t *testing.T) {
	for _, s := range []string{
		"curl -u bob:§ https://x", `curl -s -u "bob:§" https://x`, "curl --user bob:§ x", "sshpass -p § ssh h", "sshpass -p '§' ssh h", "sshpass -p§ ssh h", "mysql -u root -p§ db", "redis-cli -a § ping",
		"machine x login bob password §", "machine x\n  login bob@x.y\n  password §\nmachine y", "x --password '§'",
	} {
		in, want := withSecret(s)
		wantMasked(t, in, want)
	}
	for _, in := range []string{"docker run -u 1000:1000 x", "docker run --user 1000:1000 x", "rsync -u host:path x", "mkdir -p /a/b", "mysql -p db", "curl -u bob https://x", "curl -u $USER:$PASS x", "pip install --user x", "login with password auth", "password protected", "a - b"} {
		wantUnchanged(t, in)
	}
}

func TestKnownTokens(t *testing.T) {
	const body = "aB3dE5gH7jK9mN1pQ3s5tU7vW9xY1zA3bC5dE7fG9hJ"
	for _, prefix := range []string{"hvs.", "GOCSPX-", "tskey-auth-", "shpat_", "glsa_", "dckr_pat_", "lin_api_", "sntrys_", "ntn_", "ATATT3x", "PMAK-", "figd_", "sbp_", "NRAK-", "glrt-", "gldt-", "tvly-", "phx_", "ops_eyJ"} {
		token := prefix + body
		wantMasked(t, "see "+token+", ok", "see "+token[:head]+ellipsis+token[len(token)-tail:]+", ok")
	}
	wantMasked(t, "dapi0123456789abcdef0123456789abcdef ok", "dapi01…cdef ok")
	wantMasked(t, "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDe."+body[:38]+" ok", "MTIzND…"+body[34:38]+" ok")
	for _, in := range []string{"sk-learn-tutorial-2023-notebook", "tvly-search-engine-integration-2024", "dapi0123", "dapi0123456789abcdef0123456789abcdef0", "shpat_short", "www.example.com", "a.b.c", "hvs.short", "paths and apis"} {
		wantUnchanged(t, in)
	}
}

// TestShapes checks that the rows of the table satisfy the assumptions of token, and that
// each prefix is recognized.
func TestShapes(t *testing.T) {
	const body = "0123456789ABCDEFABCD0123456789abcdef0123456789"
	for trigger, rows := range shapes {
		for _, s := range rows {
			for _, p := range s.prefixes {
				if at := len(p) - 1 - s.after; p[at] != byte(trigger) || triggers[trigger] == 0 {
					t.Errorf("S3.4 %s: %q is not its trigger", p, p[at])
				}
				if s.after+s.min < least {
					t.Errorf("S3.4 %s: %d characters are fewer than %d", p, s.min, least)
				}
				for c := range chars {
					if s.set.has(byte(c)) && !dotted.has(byte(c)) {
						t.Errorf("S3.4 %s: no token contains %q", p, byte(c))
					}
				}
				v := p + body[:s.min]
				mask := hidden
				if len(v) >= longEnough {
					mask = v[:head] + ellipsis + v[len(v)-tail:]
				}
				wantMasked(t, "a "+v+" b", "a "+mask+" b")
				wantUnchanged(t, "a "+v[:len(v)-1]+" b")
			}
		}
	}
}

func TestKeyLines(t *testing.T) {
	const begin = "-----BEGIN PRIVATE KEY-----"
	for _, p := range [][2]string{{"> ", "> "}, {"+ ", "+ "}, {"# ", "# "}, {"  12\t", "  13\t"}, {"1: ", "2: "}, {"| ", "| "}} {
		wantMasked(t, p[0]+begin+"\n"+p[1]+"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n"+p[1]+"AbCd==\nthe end.", p[0]+begin+pemMask+"\nthe end.")
	}
}
