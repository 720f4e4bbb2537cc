package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"example.org/parley"
)

// address reads $id, which begins a resource, and anchors.
func (r *reader) address(n *node, v *value, at *position) error {
	own := ""
	if id := v.members["$id"]; id != nil && id.kind == text && (!r.draft7 || v.members["$ref"] == nil) {
		own = id.text
	}
	if own != "" && !strings.HasPrefix(own, "#") || at.pointer == "" {
		uri, err := against(at.resource.uri, own)
		if err != nil {
			return fmt.Errorf("%s: $id %q is not an address", at, parley.Clip(own, 64))
		}
		at.resource = &resource{uri: strings.TrimSuffix(uri, "#"), root: n, anchors: map[string]*node{}}
		n.resource, r.resources[at.resource.uri] = at.resource, at.resource
	} else if own != "" { // draft 07's anchor
		at.resource.anchors[own[1:]] = n
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		anchor := v.members[keyword]
		if anchor == nil || anchor.kind != text || anchor.text == "" {
			continue
		}
		at.resource.anchors[anchor.text] = n
		if keyword == "$dynamicAnchor" {
			n.dynamicAnchor = anchor.text
			r.dynamic = append(r.dynamic, n)
		}
	}
	return nil
}

// against resolves a reference against a base, both possibly empty.
func against(base, reference string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	to, err := b.Parse(reference)
	if err != nil {
		return "", err
	}
	return to.String(), nil
}

var errRemote = errors.New("refers to another document, which is never fetched; put it under $defs")

// resolve finds the target of every reference.
func (r *reader) resolve() (err error) {
	for _, n := range r.nodes {
		if n.ref != "" {
			if n.refTo, err = r.find(n, n.ref); err != nil {
				return err
			}
		}
		if n.dynamicRef != "" {
			if n.dynamicTo, err = r.find(n, n.dynamicRef); err != nil {
				return err
			}
			if name := n.dynamicTo.dynamicAnchor; name != "" && strings.HasSuffix(n.dynamicRef, "#"+name) {
				n.dynamicName = name
			}
		}
	}
	return nil
}

// find finds the schema named by a reference in n.
func (r *reader) find(n *node, reference string) (*node, error) {
	refused := func(err error) error {
		return fmt.Errorf("%s: the reference %q %w", position{pointer: n.where}, parley.Clip(reference, 64), err)
	}
	full, err := against(n.resource.uri, reference)
	if err != nil {
		return nil, refused(errors.New("is not an address"))
	}
	document, fragment, _ := strings.Cut(full, "#")
	resource := r.resources[document]
	if resource == nil {
		return nil, refused(errRemote)
	}
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return nil, refused(errors.New("is not an address"))
	}
	found := resource.root
	switch {
	case strings.HasPrefix(fragment, "/"):
		found = r.at[resource.root.where+canonicalPointer(fragment)]
	case fragment != "":
		found = resource.anchors[fragment]
	}
	if found == nil {
		return nil, refused(errors.New("leads to no schema"))
	}
	return found, nil
}

// canonicalPointer returns a pointer with every ~ and / of a name escaped uniformly.
func canonicalPointer(pointer string) string {
	var at position
	for token := range strings.SplitSeq(pointer[1:], "/") {
		at = at.to(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return at.pointer
}

// checkCycles refuses references that return to their start without descending into the value: checking against them
// would never end.
func (r *reader) checkCycles() error {
	named := map[string][]*node{}
	for _, n := range r.dynamic {
		named[n.dynamicAnchor] = append(named[n.dynamicAnchor], n)
	}
	const (
		open = 1 + iota // on the current path
		done
	)
	state := make(map[*node]int, len(r.nodes))
	var follow func(n *node) error // its depth is bounded by the number of schemas
	follow = func(n *node) (err error) {
		switch state[n] {
		case done:
			return nil
		case open:
			return bound(
				"%s refers to itself without going into the value, so a check would never end; break the circle of "+
					"references",
				position{pointer: n.where},
			)
		}
		state[n] = open
		next := func(to *node) {
			if err == nil {
				err = follow(to)
			}
		}
		n.inPlace(next)
		for _, to := range named[n.dynamicName] {
			next(to)
		}
		state[n] = done
		return err
	}
	for _, n := range r.nodes {
		if err := follow(n); err != nil {
			return err
		}
	}
	return nil
}
