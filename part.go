package parley

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The bounds of parts.
const (
	MaxParts     = 256 // of one content
	MaxCitations = 256 // of one text

	partLevels = 3 // of nesting in a content in parts, around an object in one of them

	MaxCitedBytes = 4 << 10 // of the text that a provider cites
)

// PartType says which fields of a Part are used.
type PartType string

// The types of parts. Bytes live in files, which parts name.
const (
	PartText      PartType = "text"      // Text, Citations
	PartImage     PartType = "image"     // FileID, SHA256, MediaType, Name
	PartFile      PartType = "file"      // as an image
	PartAudio     PartType = "audio"     // as an image
	PartLink      PartType = "link"      // URL, Title
	PartReasoning PartType = "reasoning" // Text; of assistant messages
	PartRefusal   PartType = "refusal"   // Text; of assistant messages
	PartObject    PartType = "object"    // Object: any JSON
)

// Part is a piece of a content, in reading order. Fields without a value are left out (ADR 0035). The server provides a
// file's SHA256, MediaType and Name: the writer of a part may leave them out.
type Part struct {
	Citations []Citation      `json:"citations,omitempty"`
	FileID    ID              `json:"file_id,omitzero"`
	MediaType string          `json:"media_type,omitempty"`
	Name      string          `json:"name,omitempty"`
	Object    json.RawMessage `json:"object,omitempty"`
	SHA256    Hash            `json:"sha256,omitzero"`
	Text      string          `json:"text,omitempty"`
	Title     string          `json:"title,omitempty"`
	Type      PartType        `json:"type"`
	URL       string          `json:"url,omitempty"`
}

// Citation gives the source of a piece of a text, from Start to End in bytes of UTF-8.
type Citation struct {
	End   int    `json:"end"`
	Start int    `json:"start"`
	Text  string `json:"text,omitempty"` // the cited words
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Size returns the size of the citation's texts in bytes.
func (c *Citation) Size() int { return len(c.Text) + len(c.Title) + len(c.URL) }

// HoldsFile reports whether the part is a file.
func (p *Part) HoldsFile() bool {
	return p.Type == PartImage || p.Type == PartFile || p.Type == PartAudio
}

// Fill completes a part with what is known of its file. It returns CodeInvalid if the part says otherwise, or claims to
// be an image or audio and is not.
func (p *Part) Fill(file File, field string) error {
	switch {
	case p.Type == PartImage && !file.IsImage():
		return InvalidField(field, "%s is not an image that can be shown; give it as a file", Clip(file.Name, 64))
	case p.Type == PartAudio && !file.IsAudio():
		return InvalidField(field, "%s is not audio; give it as a file", Clip(file.Name, 64))
	case !p.SHA256.IsZero() && p.SHA256 != file.SHA256:
		return InvalidField(field, "the file %s has another sha256", file.ID)
	case p.MediaType != "" && p.MediaType != file.MediaType:
		return InvalidField(field, "the file %s is %s", file.ID, file.MediaType)
	}
	p.SHA256, p.MediaType = file.SHA256, file.MediaType
	if p.Name == "" {
		p.Name = file.Name
	}
	return nil
}

// FilePart returns the part for a file: an image or audio if it is one.
func FilePart(file File) Part {
	part := Part{Type: PartFile, FileID: file.ID, SHA256: file.SHA256, MediaType: file.MediaType, Name: file.Name}
	switch {
	case file.IsImage():
		part.Type = PartImage
	case file.IsAudio():
		part.Type = PartAudio
	}
	return part
}

// members lists the fields that a type of part may have, and the one that it must have.
type members struct {
	must string
	may  []string
}

// partMembers returns the fields of each type of part.
func partMembers(of PartType) (members, bool) {
	switch of {
	case PartText:
		return members{"text", []string{"citations"}}, true
	case PartImage, PartFile, PartAudio:
		return members{"file_id", []string{"sha256", "media_type", "name"}}, true
	case PartLink:
		return members{"url", []string{"title"}}, true
	case PartReasoning, PartRefusal:
		return members{"text", nil}, true
	case PartObject:
		return members{"object", nil}, true
	}
	return members{}, false
}

// PartTypes returns the types of parts, in the order of their constants.
func PartTypes() []PartType {
	return []PartType{PartText, PartImage, PartFile, PartAudio, PartLink, PartReasoning, PartRefusal, PartObject}
}

// Members returns the JSON names of the fields that a part of this type must have and may have, besides type.
func (t PartType) Members() (must string, may []string) {
	of, _ := partMembers(t)
	return of.must, of.may
}

// set names the fields of a part that have a value, except its type.
func (p *Part) set() []string {
	var names []string
	for name, there := range map[string]bool{
		"citations": len(p.Citations) > 0, "file_id": !p.FileID.IsZero(), "media_type": p.MediaType != "",
		"name": p.Name != "", "object": len(p.Object) > 0, "sha256": !p.SHA256.IsZero(), "text": p.Text != "",
		"title": p.Title != "", "url": p.URL != "",
	} {
		if there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// partTypes returns the types of parts allowed in a role's content.
func partTypes(role Role) []PartType {
	switch role {
	case RoleAssistant:
		return []PartType{
			PartText, PartImage, PartFile, PartAudio, PartLink, PartReasoning, PartRefusal, PartObject,
		}
	case RoleUser, RoleToolResult:
		return []PartType{PartText, PartImage, PartFile, PartAudio, PartLink, PartObject}
	}
	return nil
}

// checkParts checks the parts of a content from outside. A row has at most one growing text and one growing reasoning:
// an assistant's content has at most one of each of its texts.
func checkParts(role Role, parts []Part) error {
	if len(parts) > MaxParts {
		return InvalidField("content.parts", "at most %d parts", MaxParts)
	}
	types := partTypes(role)
	seen := map[PartType]bool{}
	var files []ID
	for i := range parts {
		p := &parts[i]
		if !slices.Contains(types, p.Type) {
			return InvalidField(
				"content.parts",
				"%q is not a type of part in a %s message",
				Clip(string(p.Type), 32),
				role,
			)
		}
		if err := p.check(); err != nil {
			return err
		}
		switch p.Type {
		case PartText, PartReasoning, PartRefusal:
			if role == RoleAssistant && seen[p.Type] {
				return InvalidField("content.parts", "an assistant message has at most one part of type %s", p.Type)
			}
			seen[p.Type] = true
		case PartImage, PartFile, PartAudio:
			if slices.Contains(files, p.FileID) {
				return InvalidField("content.parts", "the file %s is listed twice", p.FileID)
			}
			files = append(files, p.FileID)
		}
	}
	if len(files) > MaxMessageFiles {
		return InvalidField("content.parts", "at most %d files", MaxMessageFiles)
	}
	return nil
}

func (p *Part) check() error {
	of, _ := partMembers(p.Type)
	names := p.set()
	if !slices.Contains(names, of.must) {
		return InvalidField("content.parts", "a part of type %s needs %s", p.Type, of.must)
	}
	for _, name := range names {
		if name != of.must && !slices.Contains(of.may, name) {
			return InvalidField("content.parts", "a part of type %s has no %s", p.Type, name)
		}
	}
	if len(p.Name) > MaxNameBytes || len(p.MediaType) > MaxNameBytes || len(p.Title) > MaxTitleBytes ||
		len(p.URL) > MaxLinkBytes {
		return InvalidField("content.parts", "a name, media_type, title or url is too long")
	}
	if len(p.Citations) > MaxCitations {
		return InvalidField("content.parts", "at most %d citations of one text", MaxCitations)
	}
	for i := range p.Citations {
		c := &p.Citations[i]
		if c.Start < 0 || c.End < c.Start || c.End > len(p.Text) {
			return InvalidField(
				"content.parts",
				"a citation's start and end are bytes of its text, which has %d",
				len(p.Text),
			)
		}
		if len(c.Title) > MaxTitleBytes || len(c.URL) > MaxLinkBytes {
			return InvalidField("content.parts", "the title or url of a citation is too long")
		}
	}
	return nil
}

// The bounds of texts in links and citations, in bytes.
const (
	MaxTitleBytes = 1024
	MaxLinkBytes  = 8192
)

// textsOf joins the texts of all parts of one type.
func textsOf(parts []Part, of PartType) string {
	var texts []string
	for i := range parts {
		if parts[i].Type == of {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// filesIn returns the files of parts, in order.
func filesIn(parts []Part) []ID {
	var ids []ID
	for i := range parts {
		if parts[i].HoldsFile() && !slices.Contains(ids, parts[i].FileID) {
			ids = append(ids, parts[i].FileID)
		}
	}
	return ids
}

// Plain returns a part as plain text: a text unchanged, an object as JSON, a link as its title and address, a file as
// its name in brackets.
func (p *Part) Plain() string {
	switch p.Type {
	case PartText, PartReasoning, PartRefusal:
		return p.Text
	case PartObject:
		return string(p.Object)
	case PartLink:
		if p.Title != "" {
			return p.Title + ": " + p.URL
		}
		return p.URL
	}
	return "[" + string(p.Type) + " " + p.Name + "]"
}

// holdsParts reports whether a canonical content may contain parts.
func holdsParts(content []byte) bool { return bytes.Contains(content, []byte(`"parts":[`)) }

// holdsFiles reports whether a canonical content may contain parts that are files. Within a text the quotes would be
// escaped.
func holdsFiles(content []byte) bool { return bytes.Contains(content, []byte(`"file_id":`)) }
