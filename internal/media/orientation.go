package media

import "image"

// turn returns a picture the right way up. Exif names where the first row and column of
// the file lie: 6 is right and top, so the picture was held on its side.
func turn(src *image.RGBA, way int) *image.RGBA {
	if way <= 1 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	if way >= 5 {
		w, h = h, w
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			sx, sy := x, y
			switch way {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, w-1-x
			case 7:
				sx, sy = h-1-y, w-1-x
			case 8:
				sx, sy = h-1-y, x
			}
			copy(to.Pix[to.PixOffset(x, y):][:4], src.Pix[src.PixOffset(sx, sy):][:4])
		}
	}
	return to
}
