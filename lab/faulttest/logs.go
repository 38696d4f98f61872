package faulttest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// alarms lists words that a healthy server never logs.
var alarms = []string{"panic", "DATA RACE", "fatal error", "given out twice"}

const maxLine = 300 // of a log line in a breach

// CheckLogs searches server logs for panics, data races and fatal errors. A log that cannot
// be read is a breach too.
func CheckLogs(paths []string) []Breach {
	var found []Breach
	for _, path := range paths {
		lines, err := alarmLines(path)
		if err != nil {
			found = append(found, Breach{"log", err.Error()})
		}
		for i, line := range lines {
			if i == breachesEach {
				found = append(found, Breach{"log", fmt.Sprintf("%s: and %d more lines", path, len(lines)-i)})
				break
			}
			found = append(found, Breach{"log", fmt.Sprintf("%s: %.*s", path, maxLine, line)})
		}
	}
	return found
}

// alarmLines returns the lines of a log that contain an alarm.
func alarmLines(path string) (lines []string, err error) {
	file, err := os.Open(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = file.Close() }()
	for r := bufio.NewReader(file); ; {
		line, err := r.ReadString('\n')
		for _, alarm := range alarms {
			if strings.Contains(line, alarm) {
				lines = append(lines, strings.TrimSpace(line))
				break
			}
		}
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, fmt.Errorf("read log %s: %w", path, err)
		}
	}
}
