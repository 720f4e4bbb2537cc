package mcp

import (
	"context"
	"net/url"
	"path"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/tool"
)

// People read resources, too: to show them to an agent as files.

// attachTime bounds such a request.
const attachTime = 30 * time.Second

// Resources lists what a server has to read, within bounds. CodeNotFound without such a server, CodeConflict if it has
// nothing to read or refuses, CodeUnavailable if it is away.
func (s *Source) Resources(
	ctx context.Context,
	workspaceID parley.ID,
	server string,
) (all []parley.ToolResource, err error) {
	_, err = s.read(ctx, workspaceID, server, func(
		ctx context.Context,
		session *sdk.ClientSession,
		_ *sdk.CallToolParams,
	) (reply, error) {
		all, err = resourcesOf(ctx, session)
		return reply{}, err
	})
	return all, err
}

// Resource reads a resource, and names it. Its errors are those of Resources.
func (s *Source) Resource(
	ctx context.Context,
	workspaceID parley.ID,
	server, uri string,
) (name string, data []byte, err error) {
	var contents []*sdk.ResourceContents
	got, err := s.read(ctx, workspaceID, server, func(
		ctx context.Context,
		session *sdk.ClientSession,
		_ *sdk.CallToolParams,
	) (reply, error) {
		result, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return reply{}, err
		}
		contents = result.Contents
		return reply{needs: result.NeedsInput()}, nil
	})
	switch {
	case err != nil:
		return "", nil, err
	case got.needs:
		return "", nil, parley.Errorf(parley.CodeConflict, "The tool server %s asks something before it gives this "+
			"resource. Only an agent's call can answer that.", quoted(server))
	case len(contents) != 1 || contents[0] == nil:
		return "", nil, parley.Errorf(parley.CodeConflict, "The resource has %d contents at the tool server %s, and a "+
			"file takes one.", len(contents), quoted(server))
	}
	if data = contents[0].Blob; data == nil {
		data = []byte(contents[0].Text)
	}
	return fileNameOf(uri), data, nil
}

// fileNameOf returns the last part of a resource's address.
func fileNameOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Path != "" {
		uri = u.Path
	}
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, path.Base(strings.ToValidUTF8(uri, "")))
	if name == "." || name == ".." || name == "/" || name == "" {
		return "resource"
	}
	return parley.Clip(name, maxFileName)
}

// maxFileName bounds the name of a file, in bytes; a cut is marked beyond it.
const maxFileName = 120

// read sends a person's request to a server that has resources.
func (s *Source) read(ctx context.Context, workspaceID parley.ID, server string, send request) (reply, error) {
	ctx, stop := context.WithTimeoutCause(ctx, attachTime, errSlow{attachTime})
	defer stop()
	l, err := s.linkOf(ctx, workspaceID, server)
	if err != nil {
		return reply{}, err
	}
	c, err := l.connected(ctx)
	if err != nil {
		return reply{}, err
	}
	if has := c.session.InitializeResult().Capabilities; has == nil || has.Resources == nil {
		return reply{}, parley.Errorf(parley.CodeConflict, "The tool server %s has no resources.", quoted(server))
	}
	holding := l.lists.Holding(l.owner, 0)
	defer holding.End()
	return l.call(ctx, send, "", tool.Call{Hold: func(bytes int64) error {
		if !holding.Take(bytes) {
			return errLongList
		}
		return nil
	}}, nil)
}

// linkOf finds a workspace's link to a server.
func (s *Source) linkOf(ctx context.Context, workspaceID parley.ID, server string) (*link, error) {
	v := s.viewOf(workspaceID)
	if !v.workspace.IsZero() {
		select {
		case <-v.looked:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for _, l := range v.all() {
		if l.server.Name == server {
			return l, nil
		}
	}
	owned, err := s.ownedServer(server)
	if err != nil {
		return nil, err
	}
	_, do := owned.explain(errNobody)
	return nil, parley.Errorf(parley.CodeConflict, "Nobody in this workspace has authorized the tool server %s. %s",
		quoted(server), do)
}
