package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveListInbox(a *api, x *exchange) error {
	args := x.arguments()
	unread := args.flag("unread")
	list := engine.InboxList{
		Paging: args.paging(),
		Unread: unread != nil && *unread,
		Types:  words[parley.InboxType](args, "type"),
		Agents: words[string](args, "agent"),
	}
	if args.err != nil {
		return args.err
	}
	items, err := a.engine.Inbox(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, items)
}

func serveInboxItem(a *api, x *exchange) error {
	id, err := x.pathID("item")
	if err != nil {
		return err
	}
	item, err := a.engine.InboxItem(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, item)
}

func serveUpdateInboxItem(a *api, x *exchange) error {
	id, err := x.pathID("item")
	if err != nil {
		return err
	}
	var patch engine.InboxPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	item, err := a.engine.UpdateInboxItem(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, item)
}

func serveAnswerInboxItem(a *api, x *exchange) error {
	id, err := x.pathID("item")
	if err != nil {
		return err
	}
	var input engine.InboxAnswerInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	item, err := a.engine.AnswerInboxItem(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, item)
}
