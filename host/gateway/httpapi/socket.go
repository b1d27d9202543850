package httpapi

import (
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/callid"
)

// maxSocketBody bounds a body of the local API: arguments and what is around them.
const maxSocketBody = host.MaxArgs + 64<<10

// socket is the API for processes of the same user. Whoever reaches it may call
// as anybody: the socket's mode is the guard.
type socket struct{ tools Tools }

// Socket returns the API of the owner's socket. A call without a caller is the
// operator's; a caller has the members of abi.Caller, its sessionKey canonical.
// A failure that is no tool's answer is {"error": {"code", "message"}}, with a
// status that fits the code. logger may be nil.
func Socket(tools Tools, logger *slog.Logger) http.Handler {
	if logger == nil {
		logger = slog.Default()
	}
	s := &socket{tools}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tools", s.list)
	mux.HandleFunc("POST /v1/call", s.call)
	for path, method := range map[string]string{"/v1/tools": http.MethodGet, "/v1/call": http.MethodPost} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", method)
			fail(w, http.StatusMethodNotAllowed, abi.NewError(abi.Unsupported, "use "+method))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, abi.NewError(abi.Unsupported, "the owner of the database does not know this path; it may be of another version"))
	})
	return logged(logger, recovered(logger, mux))
}

func (s *socket) list(w http.ResponseWriter, _ *http.Request) {
	d := abi.Description{ABI: abi.Version, Tools: s.tools.Tools()}
	send(w, http.StatusOK, d.AppendJSON(nil))
}

func (s *socket) call(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSocketBody))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		fail(w, status, abi.NewError(abi.InvalidArgs, "the body could not be read: "+err.Error()))
		return
	}
	c, err := parseCall(body)
	if err != nil {
		fail(w, 0, err)
		return
	}
	answer, err := s.tools.Call(r.Context(), c)
	if err != nil {
		fail(w, 0, err)
		return
	}
	o := jsonappend.Open(make([]byte, 0, len(answer.Result)+128))
	o.String("callId", answer.CallID)
	o.Raw("result", answer.Result)
	o.OptString("code", string(answer.Code))
	send(w, http.StatusOK, o.Close())
}

func parseCall(body []byte) (*host.Call, error) {
	if err := jsonstrict.Check(body); err != nil {
		return nil, abi.NewError(abi.InvalidArgs, "the body is not strict JSON: "+err.Error())
	}
	c := &host.Call{Caller: abi.Caller{Operator: true}}
	err := members(gjson.ParseBytes(body), "the body", func(name string, v gjson.Result) (known, ok bool) {
		switch name {
		case "tool":
			return true, text(v, &c.Tool)
		case "callId":
			return true, text(v, &c.ID)
		case "args":
			c.Args = []byte(v.Raw)
			return true, true
		case "caller":
			c.Caller = abi.Caller{}
			return true, v.IsObject()
		}
		return false, false
	})
	if err != nil {
		return nil, err
	}
	if caller := gjson.GetBytes(body, "caller"); caller.Exists() {
		if err := parseCaller(caller, &c.Caller); err != nil {
			return nil, err
		}
	}
	return c, callid.Check(c.ID)
}

func parseCaller(v gjson.Result, c *abi.Caller) error {
	return members(v, "caller", func(name string, v gjson.Result) (known, ok bool) {
		switch name {
		case "sessionKey":
			return true, text(v, &c.SessionKey)
		case "agentId":
			return true, text(v, &c.AgentID)
		case "channel":
			return true, text(v, &c.Channel)
		case "to":
			return true, text(v, &c.To)
		case "accountId":
			return true, text(v, &c.AccountID)
		case "threadId":
			return true, text(v, &c.ThreadID)
		case "sandboxed":
			c.Sandboxed = v.Bool()
			return true, v.IsBool()
		case "operator":
			c.Operator = v.Bool()
			return true, v.IsBool()
		case "depth":
			return true, count(v, &c.Depth)
		case "hops":
			return true, count(v, &c.Hops)
		}
		return false, false
	})
}

// members calls each for the members of an object. One that is not known, or not
// ok, is abi.InvalidArgs.
func members(v gjson.Result, what string, each func(name string, v gjson.Result) (known, ok bool)) (err error) {
	if !v.IsObject() {
		return abi.NewError(abi.InvalidArgs, what+" must be a JSON object")
	}
	v.ForEach(func(name, v gjson.Result) bool {
		switch known, ok := each(name.String(), v); {
		case !known:
			err = abi.NewError(abi.InvalidArgs, what+" has an unknown member "+name.Raw)
		case !ok:
			err = abi.NewError(abi.InvalidArgs, what+" has a member of the wrong type: "+name.Raw)
		}
		return err == nil
	})
	return err
}

func text(v gjson.Result, to *string) bool {
	*to = v.Str
	return v.Type == gjson.String
}

func count(v gjson.Result, to *int) bool {
	*to = int(v.Int())
	return v.Type == gjson.Number && float64(*to) == v.Num && *to >= 0
}

// fail writes an error. Client and owner are one user, so that texts need
// no hiding; status 0 follows from the code.
func fail(w http.ResponseWriter, status int, err error) {
	code := abi.Internal
	var e *abi.Error
	if errors.As(err, &e) {
		code = e.Code
	}
	if status == 0 {
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
