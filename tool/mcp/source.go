package mcp

import (
	"context"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/tool"
)

// Options apply to all links.
type Options struct {
	Version string // of the program, told to servers
	// Self is this program, where it calls program.Main: executed again, it ends all that a server has started with the
	// server. "": what leaves a server's process group outlives it.
	Self string
	Log  *slog.Logger // nil: slog.Default()
}

// Source provides the tools of all configured servers. It implements tool.Source and is safe for concurrent use.
type Source struct {
	links []*link // by name
	stop  context.CancelFunc
	runs  sync.WaitGroup

	mu    sync.Mutex // serialises changes of shown
	shown atomic.Pointer[catalogue]
}

// catalogue is one immutable state of the tools.
type catalogue struct {
	tools  []tool.Tool // by name
	byName map[string]tool.Tool
}

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
	s := &Source{stop: stop}
	s.shown.Store(&catalogue{})
	lists := inflight.NewBytes(listsHold*inflight.Scale(), 0)
	for _, server := range servers {
		if err := server.Check(); err != nil {
			stop()
			return nil, err
		}
		if s.link(server.Name) != nil {
			stop()
			return nil, parley.InvalidField("mcp", "server %s is listed twice", quoted(server.Name))
		}
		s.links = append(s.links, newLink(server, options, lists, s.show))
	}
	slices.SortFunc(s.links, func(a, b *link) int { return strings.Compare(a.server.Name, b.server.Name) })
	for _, l := range s.links {
		s.runs.Go(func() { l.run(ctx) }) // until Close
	}
	return s, nil
}

// Close ends all connections and their processes. Calls in progress end with an error.
func (s *Source) Close() {
	s.stop()
	s.runs.Wait()
}

// show publishes a new catalogue after a link's tools have changed.
func (s *Source) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := &catalogue{byName: map[string]tool.Tool{}}
	for _, l := range s.links {
		for _, t := range l.listed() {
			fresh.tools = append(fresh.tools, t)
			fresh.byName[t.definition.Name] = t
		}
	}
	tools := fresh.tools
	sort.Slice(tools, func(i, j int) bool { return tools[i].Definition().Name < tools[j].Definition().Name })
	s.shown.Store(fresh)
}

// Tool finds a tool by its name, server__tool.
func (s *Source) Tool(name string) (tool.Tool, bool) {
	tool, ok := s.shown.Load().byName[name]
	return tool, ok
}

// Tools lists the tools of all servers by name. A server that is away keeps its tools.
func (s *Source) Tools() []tool.Tool { return slices.Clone(s.shown.Load().tools) }

// Faults lists unusable tools offered by servers, by name.
func (s *Source) Faults() []tool.Fault {
	var all []tool.Fault
	for _, l := range s.links {
		all = append(all, l.faulty()...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Expects reports whether the name belongs to a configured server whose tools are still unknown.
func (s *Source) Expects(name string) bool {
	l := s.link(serverOf(name))
	return l != nil && !l.known()
}

// Await returns when every server has been tried once, or ctx ends.
func (s *Source) Await(ctx context.Context) {
	for _, l := range s.links {
		select {
		case <-l.tried:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Source) link(name string) *link {
	for _, l := range s.links {
		if l.server.Name == name {
			return l
		}
	}
	return nil
}
