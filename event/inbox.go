package event

import "example.org/parley"

// InboxCreated reports a new item in the inbox of the principal who watches; nobody else
// is told.
//
//event:feed
type InboxCreated struct {
	Item parley.InboxItem `json:"item"` // the item
}

// InboxUpdated reports that an item of the watcher's own inbox was read, was answered or
// ended without an answer, or that its alert was raised again.
//
//event:feed
type InboxUpdated struct {
	Item parley.InboxItem `json:"item"` // the item as it is now
}
