package mcp

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/internal/oauth"
	"example.org/parley/tool"
)

// Options apply to all links.
type Options struct {
	Version string // of the program, told to servers
	// Self is this program, where it calls program.Main: executed again, it ends all that a server has started with the
	// server. "": what leaves a server's process group outlives it.
	Self string
	Log  *slog.Logger // nil: slog.Default()
	// Authorizations and Key, which encrypts what is in it, serve servers that are authorized.
	Authorizations Authorizations
	Key            []byte
	// Redirects are the hosts where programs take answers of authorization servers, besides the person's own machine.
	Redirects []string
}

// Source provides the tools of all configured servers. It implements tool.Source, as nobody's workspace sees them, and
// is safe for concurrent use.
type Source struct {
	*view
	links   []*link  // to servers that all workspaces share, by name
	owned   []Server // that each workspace authorizes, by name
	options Options
	lists   *inflight.Bytes
	rows    Authorizations
	sealer  *oauth.Sealer
	ctx     context.Context //nolint:containedctx // its end ends every link
	stop    context.CancelFunc
	runs    sync.WaitGroup

	mu    sync.Mutex // guards views
	views map[parley.ID]*view
}

var _ tool.Source = (*Source)(nil)

// Open starts connecting to the servers and returns immediately: their tools appear once they have answered. It returns
// CodeInvalid for servers that cannot work. The links run until Close.
func Open(servers []Server, options Options) (*Source, error) {
	if len(servers) > maxServers {
		return nil, parley.InvalidField("mcp", "at most %d servers", maxServers)
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Source{
		options: options, lists: inflight.NewBytes(listsHold*inflight.Scale(), 0), rows: options.Authorizations,
		ctx: ctx, stop: stop, views: map[parley.ID]*view{},
	}
	s.view = newView(s, parley.ID{})
	if err := s.sort(servers); err != nil {
		stop()
		return nil, err
	}
	for _, l := range s.links {
		s.runs.Go(func() { l.run(ctx) }) // until Close
	}
	return s, nil
}

// sort makes the links to the servers that are shared, and keeps the others.
func (s *Source) sort(servers []Server) error {
	named := map[string]bool{}
	for _, server := range servers {
		if err := server.Check(); err != nil {
			return err
		}
		if named[server.Name] {
			return parley.InvalidField("mcp", "server %s is listed twice", quoted(server.Name))
		}
		named[server.Name] = true
		if server.OAuth == nil || server.OAuth.Grant == GrantClient {
			l := newLink(server, s.options, s.lists, s.show)
			if server.OAuth != nil {
				l.bearer = s.bearerOf(&server, parley.ID{})
			}
			s.links = append(s.links, l)
			continue
		}
		if s.sealer == nil {
			sealer, err := oauth.NewSealer(s.options.Key)
			if err != nil || s.rows == nil {
				return parley.InvalidField("mcp", "server %s: oauth needs a key that encrypts its tokens",
					quoted(server.Name))
			}
			s.sealer = &sealer
		}
		s.owned = append(s.owned, server)
	}
	slices.SortFunc(s.links, func(a, b *link) int { return strings.Compare(a.server.Name, b.server.Name) })
	return nil
}

// Close ends all connections and their processes. Calls in progress end with an error.
func (s *Source) Close() {
	s.stop()
	s.runs.Wait()
}

// show publishes new catalogues after the tools of a shared link have changed.
func (s *Source) show() {
	s.mu.Lock()
	views := []*view{s.view}
	for _, v := range s.views {
		views = append(views, v)
	}
	s.mu.Unlock()
	for _, v := range views {
		v.show()
	}
}

// For implements tool.Source.
func (s *Source) For(workspaceID parley.ID) tool.Source {
	if len(s.owned) == 0 {
		return s
	}
	return s.viewOf(workspaceID)
}

func (s *Source) bearerOf(server *Server, workspaceID parley.ID) *bearer {
	return &bearer{
		server: *server, client: s.clientOf(server), rows: s.rows, sealer: s.sealer, workspace: workspaceID,
	}
}

func (s *Source) clientOf(server *Server) *oauth.Client { return oauth.NewClient(server.AllowPrivate) }
