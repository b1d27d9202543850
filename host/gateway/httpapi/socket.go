package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
	"github.com/parley-wasm/parley/host/gateway/waiting"
	"github.com/parley-wasm/parley/host/store"
)

// maxSocketBody bounds a body of the local API that is no module: arguments and what
// is around them.
const maxSocketBody = host.MaxArgs + 64<<10

// Owner is what the owner of a database lets the processes of its user do.
type Owner interface {
	Tools
	Work
}

var _ Owner = (*host.Host)(nil)

// Socket is the API of the owner's socket, for processes of the same user. Whoever
// reaches it may call as anybody: the socket's mode is the guard. A call without a
// caller is the operator's; a caller has the members of abi.Caller, its sessionKey
// canonical. A failure that is no tool's answer is {"error": {"code", "message"}},
// with a status that fits the code.
//
// It is safe for concurrent use; who made it closes it.
type Socket struct {
	owner   Owner
	waits   *waiting.Group
	handler http.Handler
}

// NewSocket makes the API. logger may be nil.
func NewSocket(o Owner, logger *slog.Logger) *Socket {
	if logger == nil {
		logger = slog.Default()
	}
	s := &Socket{owner: o, waits: waiting.NewGroup()}
	mux := http.NewServeMux()
	methods := map[string][]string{}
	add := func(maxBody int64, all ...endpoint) {
		for _, r := range all {
			mux.HandleFunc(r.method+" "+r.path, s.answered(maxBody, r.do))
			methods[r.path] = append(methods[r.path], r.method)
		}
	}
	add(maxSocketBody, endpoint{http.MethodGet, "/v1/tools", s.list}, endpoint{http.MethodPost, "/v1/call", s.call})
	add(maxSocketBody, s.work()...)
	add(host.MaxModule, s.plugins()...)
	for path, known := range methods {
		allowed := strings.Join(known, ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", allowed)
			fail(w, http.StatusMethodNotAllowed, abi.NewError(abi.Unsupported, "use "+allowed))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, abi.NewError(abi.Unsupported, "the owner of the database does not know this path; it may be of another version"))
	})
	s.handler = logged(logger, recovered(logger, mux))
	return s
}

var _ http.Handler = (*Socket)(nil)

// ServeHTTP answers one request.
func (s *Socket) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends what requests wait for: they are answered with 503, so that their
// clients ask the next owner.
func (s *Socket) Close() { s.waits.Close() }

// endpoint is one path of the socket.
type endpoint struct {
	method, path string
	do           func(ctx context.Context, r *http.Request, wait host.Wait) ([]byte, error)
}

// answered writes what an endpoint returns.
func (s *Socket) answered(maxBody int64, do func(context.Context, *http.Request, host.Wait) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, call := s.waits.Track(r.Context(), nil)
		defer call.Done()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		doc, err := do(ctx, r, call)
		switch {
		case err == nil:
			send(w, http.StatusOK, doc)
		case waiting.CutOff(ctx):
			fail(w, http.StatusServiceUnavailable, waiting.ErrClosing)
		case errors.As(err, new(*http.MaxBytesError)):
			fail(w, http.StatusRequestEntityTooLarge, err)
		default:
			fail(w, 0, err)
		}
	}
}

func readAll(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, &abi.Error{Code: abi.InvalidArgs, Message: "the body could not be read: " + err.Error(), Cause: err}
	}
	return body, nil
}

func (s *Socket) list(ctx context.Context, r *http.Request, _ host.Wait) ([]byte, error) {
	d := abi.Description{ABI: abi.Version, Tools: s.owner.Tools()}
	query := r.URL.Query()
	if !query.Has(ownerapi.QueryCaller) {
		return d.AppendJSON(nil), nil
	}
	var c abi.Caller
	text := query.Get(ownerapi.QueryCaller)
	if readBody([]byte(text), callerFields(&c)) != nil {
		return nil, invalid("the query's %s=%s is wrong", ownerapi.QueryCaller, clip(text))
	}
	var err error
	d.Tools, err = s.owner.ToolsFor(ctx, c)
	return d.AppendJSON(nil), err
}

func (s *Socket) call(ctx context.Context, r *http.Request, wait host.Wait) ([]byte, error) {
	body, err := readAll(r)
	if err != nil {
		return nil, err
	}
	c, err := parseCall(body)
	if err != nil {
		return nil, err
	}
	c.Wait = wait
	answer, err := s.owner.Call(ctx, c)
	if err != nil {
		return nil, err
	}
	o := jsonappend.Open(make([]byte, 0, len(answer.Result)+128))
	o.String("callId", answer.CallID)
	o.OptString("flowId", answer.FlowID)
	o.Raw("result", answer.Result)
	o.OptString("code", string(answer.Code))
	return o.Close(), nil
}

func parseCall(body []byte) (*host.Call, error) {
	c := &host.Call{Caller: abi.Caller{Operator: true}}
	err := readBody(body, fields{
		"tool": text(&c.Tool), "callId": text(&c.ID), "args": anyJSON(&c.Args),
		"caller": object(callerFields(&c.Caller), func() { c.Caller = abi.Caller{} }),
	})
	if err != nil {
		return nil, err
	}
	return c, host.CheckCallID("callId", c.ID)
}

func callerFields(c *abi.Caller) fields {
	return fields{
		"sessionKey": text(&c.SessionKey), "agentId": text(&c.AgentID), "channel": text(&c.Channel), "to": text(&c.To),
		"accountId": text(&c.AccountID), "threadId": text(&c.ThreadID), "sandboxed": flag(&c.Sandboxed),
		"operator": flag(&c.Operator), "depth": count(&c.Depth), "hops": count(&c.Hops), "runId": text(&c.RunID),
	}
}

// fail writes an error. Client and owner are one user, so that texts need
// no hiding; status 0 follows from the code.
func fail(w http.ResponseWriter, status int, err error) {
	code := abi.Internal
	var e *abi.Error
	if errors.As(err, &e) {
		code = e.Code
	}
	switch {
	case status != 0:
	case errors.Is(err, store.ErrFull):
		status = http.StatusInsufficientStorage
	default:
		status = statusOf(code)
	}
	send(w, status, abi.AppendError(nil, code, err.Error()))
}

func statusOf(code abi.Code) int {
	switch code {
	case abi.InvalidArgs:
		return http.StatusBadRequest
	case abi.Forbidden:
		return http.StatusForbidden
	case abi.NotFound:
		return http.StatusNotFound
	case abi.Conflict:
		return http.StatusConflict
	case abi.Unsupported:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

func send(w http.ResponseWriter, status int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(doc) // a client that has gone needs no answer
}
