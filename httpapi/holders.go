package httpapi

import (
	"bufio"
	"container/list"
	"context"
	"net"
	"net/http"
	"time"

	"example.org/parley"
)

// The shares of a server's connections.
const (
	strangersShare = 8 // one of so many is reserved for strangers: probes, sign-ins, first requests
	principalShare = 4 // a principal's streams may take one of so many
	workspaceShare = 2 // a workspace's streams, while there are others

	streamRetry = 5 * time.Second // until a client should ask again for a stream that found no room
)

// uses counts the connections of a principal or a workspace.
type uses struct {
	busy    int // in the middle of a request
	streams int // of those
}

// holder is a principal in the middle of requests.
type holder struct {
	principal, workspace parley.ID

	uses
	line list.List // its connections in use, longest first
	in   *uses     // of its workspace
}

// letIn records that a request of the connection was let in, and whose it is.
func letIn(ctx context.Context, who *parley.Principal) {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok || g == nil {
		return
	}
	c := g.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.closed || (g.busy && g.holder.principal == who.ID) {
		return
	}
	c.stand(g)
	if !g.known {
		if c.limits.Most > 0 && c.known >= c.mostKnown() && !c.closeIdle() {
			c.closeUsed()
		}
		g.known = true
		c.known++
	}
	c.use(g, who.ID, who.WorkspaceID)
}

// mostKnown is how many connections strangers leave to others.
func (c *connections) mostKnown() int {
	return c.limits.Most - max(c.limits.Most/strangersShare, 1)
}

// use assigns a known connection, which is in no line, to a principal.
func (c *connections) use(g *guest, principal, workspace parley.ID) {
	h := c.holders[principal]
	if h == nil {
		in := c.workspaces[workspace]
		if in == nil {
			in = &uses{}
			c.workspaces[workspace] = in
		}
		h = &holder{principal: principal, workspace: workspace, in: in}
		c.holders[principal] = h
	}
	h.busy++
	h.in.busy++
	g.holder, g.busy, g.since = h, true, c.now()
	g.place = h.line.PushBack(g)
}

// rest takes a connection out of its holder's use.
func (c *connections) rest(g *guest) {
	c.endStream(g)
	h := g.holder
	h.line.Remove(g.place)
	h.busy--
	h.in.busy--
	g.busy = false
	if h.busy == 0 {
		delete(c.holders, h.principal)
	}
	if h.in.busy == 0 {
		delete(c.workspaces, h.workspace)
	}
}

// closeUsed closes the longest used connection of the principal that uses the most; if two use the same, of the one
// whose workspace uses more. It is probably a stream, which its client resumes.
func (c *connections) closeUsed() bool {
	var most *holder
	for _, h := range c.holders {
		if most == nil || h.more(most) {
			most = h
		}
	}
	if most == nil {
		return false
	}
	c.close(guestAt(most.line.Front()))
	return true
}

// more reports whether to close this holder's connection before the other one's.
func (h *holder) more(other *holder) bool {
	switch {
	case h.busy != other.busy:
		return h.busy > other.busy
	case h.in.busy != other.in.busy:
		return h.in.busy > other.in.busy
	}
	return guestAt(h.line.Front()).since.Before(guestAt(other.line.Front()).since)
}

// beginStream counts the request's connection as a stream of its holder until end is called or the connection goes.
// CodeRateLimited if there are too many.
func beginStream(ctx context.Context) (end func(), err error) {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok || g == nil || g.of.limits.Most == 0 {
		return func() {}, nil
	}
	c := g.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if !g.busy {
		return func() {}, nil // it has been closed
	}
	if g.stream {
		return func() {}, nil // a request on a connection that was taken: that counts
	}
	if most := max(c.limits.Most/principalShare, 1); g.holder.streams >= most {
		return nil, parley.TooManyStreams("You have", most, streamRetry)
	}
	if most := max(c.limits.Most/workspaceShare, 1); g.holder.in.streams >= most && len(c.workspaces) > 1 {
		return nil, parley.TooManyStreams("Your workspace has", most, streamRetry)
	}
	g.stream = true
	g.holder.streams++
	g.holder.in.streams++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.endStream(g)
	}, nil
}

// take takes a request's connection from the server. It stays in its guest's use until done closes it.
func take(ctx context.Context, w http.ResponseWriter) (net.Conn, *bufio.Reader, func(), error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, nil, parley.Errorf(parley.CodeInvalid, "This connection cannot become a WebSocket.")
	}
	g, _ := ctx.Value(guestKey{}).(*guest) // nil for one that nobody counts
	return conn, buffered.Reader, func() {
		_ = conn.Close() // nobody needs the error
		if g != nil {
			g.of.mu.Lock()
			defer g.of.mu.Unlock()
			if !g.closed {
				g.of.leave(g)
			}
		}
	}, nil
}

// endStream stops counting a stream.
func (c *connections) endStream(g *guest) {
	if g.stream {
		g.stream = false
		g.holder.streams--
		g.holder.in.streams--
	}
}
