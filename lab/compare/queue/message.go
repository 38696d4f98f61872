package queue

import (
	"fmt"
	"strconv"
	"strings"
)

// encode returns a message: its number, padded to the given size.
func encode(number, bytes int) string {
	text := strconv.Itoa(number) + ":"
	return text + strings.Repeat("x", max(0, bytes-len(text)))
}

// decode reads a message with its id in the queue.
func decode(text, entry string) (Message, error) {
	digits, _, found := strings.Cut(text, ":")
	number, err := strconv.Atoi(digits)
	if err != nil || !found {
		return Message{}, fmt.Errorf("invalid message %.20q", text)
	}
	return Message{number, entry}, nil
}
