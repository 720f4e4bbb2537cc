package netguard

// RefusePrivate is what a connection asks before it is made.
func RefusePrivate(address string) error { return refusePrivate("tcp", address, nil) }
