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
	ErrWrong   = errors.New("the bearer token is not known here")
)

// Tokens knows every accepted token. It is safe for concurrent use and keeps
// digests alone.
type Tokens struct {
	entries []entry
	runs    Runs
}

// Runs knows the tokens of the agents that are at work: each stands for its run,
// and dies with the attempt that it was made for.
type Runs interface {
	Identify(token string) (abi.Caller, bool)
}

type entry struct {
	digest   [sha256.Size]byte
	identity Identity
}

// NewTokens accepts the configured tokens and, unless empty, the operator's (the value
// of TokenVariable). If there is none at all it makes one for the operator and
// returns it, to be shown to the user; otherwise made is empty.
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
			return nil, "", fmt.Errorf("%s is also the token of the session %s in gateway.tokens; the operator needs one of its own", TokenVariable, known.Caller.SessionKey)
		}
	}
	if len(t.entries) == 0 {
		made = generate()
		t.add(made, *OperatorIdentity())
	}
	return t, made, nil
}

// AcceptRuns makes the tokens of runs accepted as well. It is to be called before
// the first Identify.
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

// Identify returns who the request's Authorization header stands for. It fails
// with ErrMissing or ErrWrong.
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

// run returns the run whose token this is. Every attempt has another token, so
// that its digest tells attempts apart too.
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

// find compares digests with every entry, so that the time taken says nothing
// about the tokens.
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

// generate makes a token of 256 random bits, safe in URLs and shells.
func generate() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
