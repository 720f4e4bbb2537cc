package time

import "syscall"

// skewed is how many seconds this process's clock is ahead of the machine's.
var skewed = func() (seconds int64) {
	value, _ := syscall.Getenv("PARLEY_TRIAL_CLOCK")
	for _, digit := range value {
		if '0' <= digit && digit <= '9' {
			seconds = seconds*10 + int64(digit-'0')
		}
	}
	if value != "" && value[0] == '-' {
		return -seconds
	}
	return seconds
}()
