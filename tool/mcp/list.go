package mcp

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley/tool"
)

const (
	// MaxServerTools bounds the tools accepted from one server.
	MaxServerTools = 512
	// maxListPages bounds the pages of one list.
	maxListPages = 64
)

// relist asks a server for its tools and, if they have changed, publishes them.
func (l *link) relist(ctx context.Context, c *connection) error {
	counted, done := l.holdList(ctx)
	defer done()
	given, err := l.list(withMending(counted, l.lost), c.session)
	if err != nil {
		return err
	}
	fresh, faults := l.make(given)
	fresh = byName(append(fresh, l.offers(c.session.InitializeResult().Capabilities, fresh)...))
	l.mu.Lock()
	l.faults = faults
	same := l.had && slices.EqualFunc(l.tools, fresh, (*remoteTool).equal)
	if !same {
		l.tools, l.had = fresh, true
	}
	l.mu.Unlock()
	if !same {
		l.log.Debug("an MCP server lists tools", "tools", len(fresh))
		l.changed()
	}
	return nil
}

// lost warns about a member of a list that cannot be read.
func (l *link) lost(tool, member string) {
	l.warn("lost "+tool+" "+member, "an MCP server says something of a tool that is not as the protocol wants it; "+
		"it is ignored, and a tool without a name is left out", "tool", tool, "member", member)
}

// list reads the pages of a list, within bounds.
func (l *link) list(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	var all []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxListPages {
		page, err := session.ListTools(ctx, params)
		if refusal, refused := refusalOf(err); refused && refusal.Code == jsonrpc.CodeMethodNotFound {
			return nil, nil // a server without tools
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Tools...)
		if len(all) > MaxServerTools {
			l.warn(
				"too many",
				"an MCP server has more tools than are accepted; the others are left out",
				"taken",
				MaxServerTools,
			)
			return all[:MaxServerTools], nil
		}
		if page.NextCursor == "" {
			return all, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	l.warn(
		"too many pages",
		"an MCP server's list of tools does not end; the pages so far are used",
		"pages",
		maxListPages,
	)
	return all, nil
}

// make reads a server's descriptions of its tools, by name. It leaves out unusable tools with a warning, and reports
// them with the reason.
func (l *link) make(given []*sdk.Tool) ([]*remoteTool, []tool.Fault) {
	made := make([]*remoteTool, 0, len(given))
	var faults []tool.Fault
	for _, g := range given {
		t, err := newTool(l, g)
		if err != nil {
			l.warn("out "+g.Name, "a tool of an MCP server is left out", "tool", g.Name, "error", err)
			do := "Ask the server's maintainer for a schema within the bounds; its other tools work."
			if errors.Is(err, errTaskOnly) {
				do = "Ask the server's maintainer to let it be called without a task; its other tools work."
			}
			faults = append(faults, tool.Fault{
				Name: toolName(l.server.Name, g.Name), Source: l.source(), Reason: err.Error(), Do: do,
			})
			continue
		}
		made = append(made, t)
	}
	made = slices.CompactFunc(byName(made), func(a, b *remoteTool) bool {
		twice := a.definition.Name == b.definition.Name
		if twice {
			l.warn(
				"twice "+a.original,
				"an MCP server lists a tool twice; the first is used",
				"tool",
				a.definition.Name,
			)
		}
		return twice
	})
	return made, faults
}

func byName(tools []*remoteTool) []*remoteTool {
	slices.SortStableFunc(
		tools,
		func(a, b *remoteTool) int { return strings.Compare(a.definition.Name, b.definition.Name) },
	)
	return tools
}

// equal reports whether a tool is unchanged.
func (t *remoteTool) equal(other *remoteTool) bool {
	return t.original == other.original && t.offered == other.offered && t.annotations == other.annotations &&
		t.definition.Name == other.definition.Name && t.definition.Description == other.definition.Description &&
		bytes.Equal(t.definition.Parameters, other.definition.Parameters)
}
