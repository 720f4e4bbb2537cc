package editor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

// The bounds of an editor's requests.
const (
	// MaxMessage bounds one message of an editor in bytes: prompts hold images in base64.
	MaxMessage = 48 << 20
	maxAtOnce  = 64  // requests that are worked on
	maxOpen    = 256 // sessions that are open

	// awayTime is how long a server may be away before what waits for it fails.
	awayTime  = 2 * time.Minute
	firstRest = 100 * time.Millisecond // between two attempts to reach it; doubles up to lastRest
	lastRest  = 2 * time.Second
)

// Options say whom to serve, and for whom.
type Options struct {
	Client  *client.Client
	Agent   string // of new sessions, by id or slug; "" means the server's default
	Version string // of this program
	In      io.Reader
	Out     io.Writer // gets nothing but messages
}

// server serves one editor.
type server struct {
	api     *client.Client
	conn    *acpwire.Conn
	agent   string
	version string
	own     string             // names this program in the metadata of sessions
	life    context.Context    //nolint:containedctx // of this program: ends what its goroutines do
	listens context.Context    //nolint:containedctx // ends when the editor has closed its end
	places  chan struct{}      // one for each request that is worked on
	work    sync.WaitGroup     // requests, and turns that are followed
	leave   context.CancelFunc // ends listens

	mu       sync.Mutex // guards the rest
	me       parley.ID  // whose key this program has; zero until it was asked for
	offers   offers
	sessions map[string]*session
	running  map[string]context.CancelFunc // requests, by their ids
}

// offers is what the editor can do.
type offers struct {
	Files struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal    bool `json:"terminal"`
	Elicitation *struct {
		Form *struct{} `json:"form"`
	} `json:"elicitation"`
}

// Serve serves an editor until it closes its end, or ctx ends. Turns that run then go on at the server.
func Serve(ctx context.Context, options Options) error {
	life, stop := context.WithCancel(ctx)
	s := &server{
		api: options.Client, agent: options.Agent, version: options.Version, own: parley.NewID().String(),
		life: life, places: make(chan struct{}, maxAtOnce), sessions: map[string]*session{},
		running: map[string]context.CancelFunc{},
	}
	s.listens, s.leave = context.WithCancel(life)
	s.conn = acpwire.NewConn(func(line []byte) error {
		_, err := options.Out.Write(line)
		return err
	})
	s.conn.Longest, s.conn.Lenient = MaxMessage, true
	s.conn.Asked, s.conn.Told = s.asked, s.told
	ended := make(chan error, 1)
	go func() { ended <- s.conn.Read(options.In) }() // ends with the input, or with the process
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		stop()
	}
	s.leave()
	s.work.Wait() // requests are bounded in time, and turns are left
	stop()
	s.conn.End(io.EOF)
	switch {
	case errors.Is(err, acpwire.ErrLongFrame):
		return parley.Errorf(parley.CodeTooLarge, "%s", err.Error())
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// asked takes a request. What the editor says first is answered before the next line is read; other requests do not
// wait for each other.
func (s *server) asked(id json.RawMessage, method string, params json.RawMessage) {
	if method == acpwire.MethodInitialize {
		s.answer(id, func() (any, error) { return s.initialize(params) })
		return
	}
	select {
	case s.places <- struct{}{}:
	default:
		s.answer(id, func() (any, error) {
			return nil, parley.Errorf(
				parley.CodeRateLimited,
				"%d requests are running; wait until one has ended",
				maxAtOnce,
			)
		})
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	s.mu.Lock()
	s.running[string(id)] = cancel
	s.mu.Unlock()
	s.work.Go(func() { // ends with its request
		defer func() {
			s.mu.Lock()
			delete(s.running, string(id))
			s.mu.Unlock()
			cancel()
			<-s.places
		}()
		s.answer(id, func() (any, error) { return s.serve(ctx, method, params) })
	})
}

// told takes a notification.
func (s *server) told(method string, params json.RawMessage) {
	var of struct {
		Session string          `json:"sessionId"`
		Request json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &of) != nil {
		return
	}
	switch method {
	case acpwire.MethodCancel:
		if x := s.find(of.Session); x != nil {
			x.cancel()
		}
	case acpwire.MethodCancelRequest:
		s.mu.Lock()
		if cancel := s.running[string(of.Request)]; cancel != nil {
			cancel()
		}
		s.mu.Unlock()
	}
}

// serve does what a request asks for.
func (s *server) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case acpwire.MethodNew:
		return s.open(ctx, params)
	case acpwire.MethodLoad:
		return s.take(ctx, params, true)
	case acpwire.MethodResume:
		return s.take(ctx, params, false)
	case acpwire.MethodList:
		return s.list(ctx, params)
	case acpwire.MethodMode:
		return s.choose(ctx, params)
	case acpwire.MethodPrompt:
		return s.prompt(ctx, params)
	case acpwire.MethodClose:
		return s.close(params)
	case acpwire.MethodAuthenticate:
		return nil, parley.Errorf(parley.CodeUnsupported, "there is nothing to sign in to: start parley acp with a key")
	}
	return nil, &acpwire.Fault{
		Code: acpwire.CodeNoMethod, Message: "Parley has no method " + parley.Clip(method, 64),
	}
}

// errGone says that nobody waits for the answer.
var errGone = errors.New("nobody waits for the answer")

// answer answers a request in the protocol's shape.
func (s *server) answer(id json.RawMessage, serve func() (any, error)) {
	result, err := serve()
	switch {
	case errors.Is(err, errGone):
	case err != nil:
		err = s.conn.Fail(id, faultOf(err))
	default:
		err = s.conn.Respond(id, result)
	}
	if err != nil { // the editor has stopped reading
		s.leave()
	}
}

// faultOf is an error as the editor reads it.
func faultOf(err error) *acpwire.Fault {
	var fault *acpwire.Fault
	if errors.As(err, &fault) {
		return fault
	}
	fault = &acpwire.Fault{Code: acpwire.CodeInternal, Message: err.Error()}
	if errors.Is(err, context.Canceled) {
		fault.Code, fault.Message = acpwire.CodeCancelled, "the request was cancelled"
	}
	var known *parley.Error
	if !errors.As(err, &known) {
		return fault
	}
	fault.Message = known.Message
	fault.Data = map[string]string{"code": string(known.Code), "field": known.Field}
	switch known.Code {
	case parley.CodeInvalid, parley.CodeTooLarge, parley.CodeUnsupported:
		fault.Code = acpwire.CodeInvalidParams
	case parley.CodeNotFound:
		fault.Code = acpwire.CodeNotFound
	case parley.CodeUnauthenticated:
		fault.Code = acpwire.CodeAuthenticate
	}
	return fault
}

// arguments reads the parameters of a request.
func arguments(params json.RawMessage, into any) error {
	if len(params) == 0 || json.Unmarshal(params, into) != nil {
		return parley.InvalidField("params", "the parameters do not have the form of the protocol")
	}
	return nil
}

// initialized answers the first request.
type initialized struct {
	Version int `json:"protocolVersion"`
	Agent   struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Capabilities struct {
		Load    bool                       `json:"loadSession"`
		Prompt  acpwire.PromptCapabilities `json:"promptCapabilities"`
		Session struct {
			List   struct{} `json:"list"`
			Resume struct{} `json:"resume"`
			Close  struct{} `json:"close"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Methods []struct{} `json:"authMethods"`
}

func (s *server) initialize(params json.RawMessage) (any, error) {
	var given struct {
		Capabilities offers `json:"clientCapabilities"`
	}
	if err := arguments(params, &given); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.offers = given.Capabilities
	s.mu.Unlock()
	hello := initialized{Version: acpwire.Version, Methods: []struct{}{}}
	hello.Agent.Name, hello.Agent.Title, hello.Agent.Version = "parley", "Parley", s.version
	hello.Capabilities.Load = true
	hello.Capabilities.Prompt = acpwire.PromptCapabilities{Images: true, Audio: true, Embedded: true}
	return hello, nil
}

// mine reports whether a session is of the editor's user. In those of others the editor's tools are not offered, and
// nothing is done that their metadata say: their owners decide what runs there unasked.
func (s *server) mine(ctx context.Context, of *parley.Session) (bool, error) {
	me, err := s.whoAmI(ctx)
	return of.OwnerID == me, err
}

// whoAmI returns the principal of this program's key.
func (s *server) whoAmI(ctx context.Context) (parley.ID, error) {
	s.mu.Lock()
	me := s.me
	s.mu.Unlock()
	if !me.IsZero() {
		return me, nil
	}
	who, err := s.api.Principal(ctx)
	if err != nil {
		return parley.ID{}, err
	}
	s.mu.Lock()
	s.me = who.ID
	s.mu.Unlock()
	return who.ID, nil
}

// editorOffers returns what the editor can do.
func (s *server) editorOffers() offers {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offers
}

// patiently repeats what fails because the server is away, for as long as awayTime.
func (s *server) patiently(ctx context.Context, try func() error) error {
	var since time.Time
	for rest := firstRest; ; rest = min(2*rest, lastRest) {
		err := try()
		if parley.ErrorCode(err) != parley.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		if now := time.Now(); since.IsZero() {
			since = now
		} else if now.Sub(since) > awayTime {
			return err
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
