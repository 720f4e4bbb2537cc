package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
)

// The addresses of resources.
const (
	sessionURI  = "parley://sessions/"
	documentURI = "parley://documents/"
)

// The bounds of resources.
const (
	resourcesPage = 100     // in a page of the list: sessions first, then documents
	maxResource   = 8 << 20 // bytes of a document
	resourceHolds = 4       // times its content, a document takes
)

// The cursors of the list begin with the kind of resource that comes next.
const (
	sessionsCursor  = "s:"
	documentsCursor = "d:"
)

// resource describes a resource.
type resource struct {
	URI   string `json:"uri"`
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Type  string `json:"mimeType"`
	Size  *int64 `json:"size,omitempty"`
}

// resources lists the sessions and the documents that the caller may read.
func (a *api) resources(ctx context.Context, r *request) (any, error) {
	list := struct {
		outcome
		Resources []resource `json:"resources"`
		Next      string     `json:"nextCursor,omitempty"`
	}{outcome: a.completed(r, true), Resources: []resource{}}
	cursor, documents := strings.CutPrefix(r.Cursor, documentsCursor)
	if documents {
		rows, err := a.engine.Artifacts(ctx, r.x.Principal, engine.ArtifactList{
			Paging: engine.Paging{Limit: resourcesPage, Cursor: cursor},
		})
		if err != nil {
			return nil, a.refused(r, err)
		}
		for i := range rows.Data {
			d := &rows.Data[i]
			list.Resources = append(list.Resources, resource{
				URI: documentURI + d.ID.String(), Name: d.Name, Type: mediaType(d), Size: &d.Bytes,
			})
		}
		if rows.Next != nil {
			list.Next = documentsCursor + *rows.Next
		}
		return list, nil
	}
	cursor, ok := strings.CutPrefix(r.Cursor, sessionsCursor)
	if !ok && cursor != "" {
		return nil, invalid("cursor is not one of this list")
	}
	rows, err := a.engine.Sessions(ctx, r.x.Principal, engine.SessionList{
		Paging: engine.Paging{Limit: resourcesPage, Cursor: cursor},
	})
	if err != nil {
		return nil, a.refused(r, err)
	}
	for i := range rows.Data {
		s := &rows.Data[i]
		list.Resources = append(list.Resources, resource{
			URI: sessionURI + s.ID.String(), Name: "session " + s.ID.String(), Title: s.Title, Type: jsonType,
		})
	}
	list.Next = documentsCursor
	if rows.Next != nil {
		list.Next = sessionsCursor + *rows.Next
	}
	return list, nil
}

// jsonType is what sessions are read as.
const jsonType = "application/json"

// mediaType is what a document is read as.
func mediaType(a *parley.Artifact) string {
	switch a.Kind {
	case parley.ArtifactJSON:
		return jsonType
	case parley.ArtifactMarkdown:
		return "text/markdown"
	case parley.ArtifactCSV:
		return "text/csv"
	case parley.ArtifactHTML:
		return "text/html"
	case parley.ArtifactSVG:
		return "image/svg+xml"
	case parley.ArtifactFile:
		return a.MediaType
	}
	return "text/plain"
}

// template describes resources by the form of their addresses.
type template struct {
	URI         string `json:"uriTemplate"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"mimeType,omitempty"`
}

// templates lists the forms of addresses.
func (a *api) templates(r *request) any {
	return struct {
		outcome
		Templates []template `json:"resourceTemplates"`
	}{a.completed(r, true), []template{
		{sessionURI + "{session_id}{?cursor}", "session",
			"A session's messages, oldest first; next is the cursor of the following page.", jsonType},
		{documentURI + "{document_id}{?version}", "document", "A document, in its current version by default.", ""},
	}}
}

// content is what a resource contains: a text, or bytes.
type content struct {
	URI  string  `json:"uri"`
	Type string  `json:"mimeType"`
	Text *string `json:"text,omitempty"`
	Blob []byte  `json:"blob,omitempty"`
}

// resource reads a resource.
func (a *api) resource(ctx context.Context, r *request) (any, error) {
	if r.URI == "" || len(r.URI) > maxURI {
		return nil, invalid("uri is missing, or longer than " + strconv.Itoa(maxURI) + " bytes")
	}
	read, err := a.contentOf(ctx, r)
	if err != nil {
		return nil, a.refused(r, err)
	}
	read.URI = r.URI
	return struct {
		outcome
		Contents []content `json:"contents"`
	}{a.completed(r, true), []content{read}}, nil
}

// contentOf reads what an address names.
func (a *api) contentOf(ctx context.Context, r *request) (content, error) {
	address, question, _ := strings.Cut(r.URI, "?")
	given, err := url.ParseQuery(question)
	if err != nil {
		return content{}, parley.InvalidField("uri", "has a query that cannot be read")
	}
	if text, ok := strings.CutPrefix(address, sessionURI); ok {
		id, err := idIn(text)
		if err != nil {
			return content{}, err
		}
		read, err := a.transcript(ctx, r, id, engine.Paging{Limit: resourcesPage, Cursor: given.Get("cursor")})
		if err != nil {
			return content{}, err
		}
		encoded, err := json.Marshal(read)
		text := string(encoded)
		return content{Type: jsonType, Text: &text}, err
	}
	text, ok := strings.CutPrefix(address, documentURI)
	id, err := idIn(text)
	if !ok || err != nil {
		return content{}, errNoResource()
	}
	version := 0
	if number := given.Get("version"); number != "" {
		if version, err = strconv.Atoi(number); err != nil || version < 1 {
			return content{}, parley.InvalidField("uri", "has a version that is not a number from 1")
		}
	}
	return a.document(ctx, r, id, version)
}

// idIn reads the id in an address.
func idIn(text string) (parley.ID, error) {
	id, err := parley.ParseID(text)
	if err != nil || id.IsZero() {
		return parley.ID{}, errNoResource()
	}
	return id, nil
}

func errNoResource() error {
	return parley.Errorf(parley.CodeNotFound, "This resource does not exist.")
}

// document reads a document.
func (a *api) document(ctx context.Context, r *request, id parley.ID, version int) (content, error) {
	about, err := a.engine.Artifact(ctx, r.x.Principal, id)
	if err != nil {
		return content{}, err
	}
	size := about.Bytes
	if version != 0 {
		v, err := a.engine.ArtifactVersion(ctx, r.x.Principal, id, version)
		if err != nil {
			return content{}, err
		}
		size = v.Bytes
	}
	if size > maxResource {
		return content{}, parley.Errorf(parley.CodeTooLarge,
			"The document has %d bytes; a resource may have %d. Read it at /v1/artifacts/%s/content.",
			size, maxResource, id)
	}
	if err := r.hold(resourceHolds * size); err != nil {
		return content{}, err
	}
	read, err := a.engine.ArtifactContent(ctx, r.x.Principal, id, version)
	if err != nil {
		return content{}, err
	}
	made := content{Type: mediaType(&about)}
	if about.Kind == parley.ArtifactFile {
		made.Blob = read.Bytes
	} else {
		text := string(read.Bytes)
		made.Text = &text
	}
	return made, nil
}
