package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config"
)

// TokenVariable is the environment variable that holds the operator's token.
const TokenVariable = "PARLEY_TOKEN"

// Failures of Identify. Their texts are for the client.
var (
	ErrMissing = errors.New(`no bearer token; send the header "Authorization: Bearer <token>"`)
	ErrWrong   = errors.New("unknown bearer token")
)

// Tokens is the set of accepted tokens. It stores only digests, and is safe for
// concurrent use.
type Tokens struct {
	entries []entry
	runs    Runs
}

// Runs knows the tokens of running agents. Each token identifies one run and expires with
// the attempt for which it was made.
type Runs interface {
	// Identify returns the caller of a token, or false if the token is unknown or expired.
	Identify(token string) (abi.Caller, bool)
}

type entry struct {
	digest   [sha256.Size]byte
	identity Identity
}

// NewTokens returns the set of the configured tokens and, unless empty, the operator's
// token (the value of TokenVariable). If the set would be empty, NewTokens generates a
// token for the operator and returns it as made, which the caller must show to the user.
func NewTokens(configured []config.Token, operator string) (t *Tokens, made string, err error) {
	t = &Tokens{}
	for i, c := range configured {
		if c.Unset != "" {
			err = errors.Join(err, fmt.Errorf("gateway.tokens[%d].token: the environment variable %s is not set, or blank; set it, or remove the token", i, c.Unset))
		}
		id := Identity{Caller: caller(&c), ID: fmt.Sprintf("token %d", i)}
		t.entries = append(t.entries, entry{sha256.Sum256([]byte(c.Secret.Reveal())), id})
	}
	if err != nil {
		return nil, "", err
	}
	if operator = strings.TrimSpace(operator); operator != "" {
		if strings.ContainsFunc(operator, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, "", errors.New(TokenVariable + " has characters that a bearer token cannot have; use visible ASCII without spaces")
		}
		switch known := t.find(operator); {
		case known == nil:
			t.add(operator, *OperatorIdentity())
		case !known.Caller.Operator:
			return nil, "", fmt.Errorf("%s is also the token of the session %s in gateway.tokens; the operator needs another token", TokenVariable, known.Caller.SessionKey)
		}
	}
	if len(t.entries) == 0 {
		made = generate()
		t.add(made, *OperatorIdentity())
	}
	return t, made, nil
}

// AcceptRuns adds the tokens of runs. It must be called before the first Identify.
func (t *Tokens) AcceptRuns(r Runs) { t.runs = r }

func (t *Tokens) add(token string, i Identity) {
	t.entries = append(t.entries, entry{sha256.Sum256([]byte(token)), i})
}

func caller(t *config.Token) abi.Caller {
	if t.Operator {
		return abi.Caller{Operator: true}
	}
	c := abi.Caller{
		SessionKey: t.Caller.SessionKey, AgentID: t.Caller.AgentID,
		Channel: t.Caller.Channel, To: t.Caller.To,
		AccountID: t.Caller.AccountID, ThreadID: t.Caller.ThreadID,
		Sandboxed: t.Caller.Sandboxed,
	}
	if sessionkey.IsChild(c.SessionKey) {
		c.Depth = 1
	}
	return c
}

// Identify returns the identity of the token in the request's Authorization header. It
// fails with ErrMissing or ErrWrong.
func (t *Tokens) Identify(r *http.Request) (*Identity, error) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return nil, ErrMissing
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, ErrMissing
	}
	if i := t.find(token); i != nil {
		return i, nil
	}
	if i := t.run(token); i != nil {
		return i, nil
	}
	return nil, ErrWrong
}

// run returns the identity of a run's token. Every attempt has its own token, so the
// digest in the ID distinguishes attempts too.
func (t *Tokens) run(token string) *Identity {
	if t.runs == nil {
		return nil
	}
	caller, ok := t.runs.Identify(token)
	if !ok || caller.Operator || caller.SessionKey == "" {
		return nil
	}
	digest := sha256.Sum256([]byte(token))
	return &Identity{Caller: caller, ID: "run " + caller.RunID + " " + hex.EncodeToString(digest[:8])}
}

// find compares the token's digest with every entry, so that the time taken reveals
// nothing about the accepted tokens.
func (t *Tokens) find(token string) *Identity {
	digest := sha256.Sum256([]byte(token))
	var found *Identity
	for i := range t.entries {
		if subtle.ConstantTimeCompare(digest[:], t.entries[i].digest[:]) == 1 {
			found = &t.entries[i].identity
		}
	}
	return found
}

// generate returns a token of 256 random bits, safe in URLs and shells.
func generate() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
