package queue

import (
	"fmt"
	"strconv"
	"strings"
)

// encode writes a message: its number, filled up to so many bytes.
func encode(number, bytes int) string {
	text := strconv.Itoa(number) + ":"
	return text + strings.Repeat("x", max(0, bytes-len(text)))
}

// decode reads a message, which its queue knows by a name.
func decode(text, entry string) (Message, error) {
	digits, _, found := strings.Cut(text, ":")
	number, err := strconv.Atoi(digits)
	if err != nil || !found {
		return Message{}, fmt.Errorf("invalid message %.20q", text)
	}
	return Message{number, entry}, nil
}
