// Generated pictures.

import { crc32, deflateSync } from 'node:zlib'

/** Returns an opaque PNG with gradients, like a photo. */
export function picture(width: number, height: number): Buffer {
  return png(width, height, 3)
}

/** Returns the same PNG with a transparent hole in its middle. */
export function transparentPicture(width: number, height: number): Buffer {
  return png(width, height, 4)
}

function png(width: number, height: number, channels: 3 | 4): Buffer {
  const row = 1 + width * channels
  const pixels = Buffer.alloc(row * height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * row + 1 + x * channels
      pixels[at] = (x * 255) / width
      pixels[at + 1] = (y * 255) / height
      pixels[at + 2] = ((x ^ y) & 63) * 3
      const inside = Math.hypot(x - width / 2, y - height / 2) < Math.min(width, height) / 4
      if (channels === 4) pixels[at + 3] = inside ? 0 : 255
    }
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, channels === 4 ? 6 : 2, 0, 0, 0], 8) // 8 bits per channel, RGB or RGBA
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
