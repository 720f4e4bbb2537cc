package mcp

import (
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/tool"
)

const (
	// lookEvery is how often a workspace's authorizations are read again: another process may have changed them.
	lookEvery = 10 * time.Second
	// viewIdle is how long the connections of a workspace stay that nobody uses.
	viewIdle = time.Hour
)

// view is the source as one workspace sees it: with connections of its own to the servers that it has authorized. It
// implements tool.Source.
type view struct {
	source    *Source
	workspace parley.ID // zero: nobody's
	looked    chan struct{}
	now       chan struct{} // capacity 1: look now
	used      atomic.Int64  // when, in Unix seconds

	mu    sync.Mutex // guards all below, and serialises changes of shown
	own   map[string]*ownLink
	shown atomic.Pointer[catalogue]
}

// ownLink is a workspace's link, and how it ends.
type ownLink struct {
	*link
	since parley.Time // of the authorization
	end   context.CancelFunc
}

// catalogue is one immutable state of the tools.
type catalogue struct {
	tools  []tool.Tool // by name
	byName map[string]tool.Tool
}

func newView(s *Source, workspaceID parley.ID) *view {
	v := &view{
		source: s, workspace: workspaceID, looked: make(chan struct{}), now: make(chan struct{}, 1),
		own: map[string]*ownLink{},
	}
	v.shown.Store(&catalogue{})
	return v
}

// viewOf returns the view of a workspace; it begins one that reads the workspace's authorizations until nobody uses it.
func (s *Source) viewOf(workspaceID parley.ID) *view {
	if len(s.owned) == 0 || workspaceID.IsZero() {
		return s.view
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[workspaceID]
	if v == nil {
		v = newView(s, workspaceID)
		v.used.Store(time.Now().Unix())
		v.show()
		if s.ctx.Err() == nil {
			s.views[workspaceID] = v
			s.runs.Go(v.run) // until Close, or until it is idle
		}
	}
	v.used.Store(time.Now().Unix())
	return v
}

// run keeps the workspace's links as its authorizations are.
func (v *view) run() {
	s := v.source
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	first := sync.OnceFunc(func() { close(v.looked) })
	defer first()
	for {
		v.sync()
		first()
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		case <-v.now:
		}
		s.mu.Lock()
		idle := time.Since(time.Unix(v.used.Load(), 0)) > viewIdle
		if idle {
			delete(s.views, v.workspace)
		}
		s.mu.Unlock()
		if idle {
			v.end()
			return
		}
	}
}

// look has the authorizations read now.
func (v *view) look() { wakeUp(v.now) }

// sync starts and ends links as the workspace's rows say. Without an answer of the store everything stays.
func (v *view) sync() {
	s := v.source
	rows, err := s.rows.ToolAuthorizations(s.ctx, v.workspace)
	if err != nil {
		if s.ctx.Err() == nil {
			s.options.Log.Debug("authorizations at tool servers cannot be read", "error", err)
		}
		return
	}
	since := map[string]parley.Time{}
	for i := range rows {
		if len(rows[i].Tokens) > 0 {
			since[rows[i].Server] = rows[i].AuthorizedAt
		}
	}
	changed := false
	v.mu.Lock()
	for i := range s.owned {
		server := &s.owned[i]
		had, has := v.own[server.Name], since[server.Name]
		if had != nil && had.since != has {
			had.end()
			delete(v.own, server.Name)
			had, changed = nil, true
		}
		if had == nil && has != 0 {
			ctx, end := context.WithCancel(s.ctx)
			l := newLink(*server, s.options, s.lists, v.show)
			l.bearer = s.bearerOf(server, v.workspace)
			v.own[server.Name], changed = &ownLink{l, has, end}, true
			s.runs.Go(func() { l.run(ctx) }) // until its authorization ends, or the view
		}
	}
	v.mu.Unlock()
	if changed {
		v.show()
	}
}

// end ends the workspace's links.
func (v *view) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, own := range v.own {
		own.end()
	}
	clear(v.own)
}

// all returns the links that the workspace uses, by name.
func (v *view) all() []*link {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.both()
}

// both is all; v.mu is held.
func (v *view) both() []*link {
	links := slices.Clone(v.source.links)
	for _, own := range v.own {
		links = append(links, own.link)
	}
	return links
}

// show publishes a new catalogue after the tools of a link have changed.
func (v *view) show() {
	v.mu.Lock()
	defer v.mu.Unlock()
	fresh := &catalogue{byName: map[string]tool.Tool{}}
	for _, l := range v.both() {
		for _, t := range l.listed() {
			fresh.tools = append(fresh.tools, t)
			fresh.byName[t.definition.Name] = t
		}
	}
	tools := fresh.tools
	sort.Slice(tools, func(i, j int) bool { return tools[i].Definition().Name < tools[j].Definition().Name })
	v.shown.Store(fresh)
}

// For implements tool.Source.
func (v *view) For(workspaceID parley.ID) tool.Source { return v.source.For(workspaceID) }

// Tool finds a tool by its name, server__tool.
func (v *view) Tool(name string) (tool.Tool, bool) {
	tool, ok := v.shown.Load().byName[name]
	return tool, ok
}

// Tools lists the tools of all servers by name. A server that is away keeps its tools.
func (v *view) Tools() []tool.Tool { return slices.Clone(v.shown.Load().tools) }

// Faults lists unusable tools offered by servers, and servers that cannot be used, by name.
func (v *view) Faults() []tool.Fault {
	var all []tool.Fault
	has := map[string]bool{}
	for _, l := range v.all() {
		has[l.server.Name] = true
		all = append(all, l.faulty()...)
	}
	for i := range v.source.owned {
		server := &v.source.owned[i]
		if has[server.Name] || v.workspace.IsZero() {
			continue
		}
		reason, do := server.explain(errNobody)
		all = append(all, tool.Fault{
			Name: server.Name + nameJoint + "*", Source: sourceName(server), Reason: reason, Do: do,
		})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Expects reports whether the name belongs to a configured server whose tools are still unknown.
func (v *view) Expects(name string) bool {
	server := serverOf(name)
	for _, l := range v.all() {
		if l.server.Name == server {
			return !l.known()
		}
	}
	return slices.ContainsFunc(v.source.owned, func(s Server) bool { return s.Name == server })
}

// Await returns when every server has been tried once, or ctx ends.
func (v *view) Await(ctx context.Context) {
	if !v.workspace.IsZero() {
		select {
		case <-v.looked:
		case <-ctx.Done():
			return
		}
	}
	for _, l := range v.all() {
		select {
		case <-l.tried:
		case <-ctx.Done():
			return
		}
	}
}
