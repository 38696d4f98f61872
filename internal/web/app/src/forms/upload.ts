import { useEffect, useRef, useState } from 'react'

import { useFailureText, useRefusalText } from '@/api/errors'
import { upload as send, type UploadedImage } from '@/api/upload'
import { currentSession } from '@/session/session'
import { toast } from '@/ui/toast'

import { prepare } from './shrink'

/**
 * Uploads pictures, one after the other, and says why one was not taken: `[upload, progress]`. The
 * progress of one that is under way is from 0 to 1; it ends with the screen.
 */
export function useUpload(): [(file: File) => Promise<UploadedImage | null>, number | null] {
  const failureText = useFailureText()
  const refusalText = useRefusalText()
  const [progress, setProgress] = useState<number | null>(null)
  const leave = useRef<AbortController>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    leave.current = controller
    return () => controller.abort()
  }, [])

  const upload = async (file: File) => {
    const session = currentSession()
    const signal = leave.current?.signal
    if (session === null || !signal || signal.aborted) return null
    setProgress(0)
    const { file: small } = await prepare(file)
    if (signal.aborted) return null
    const done = await send(small, session, { signal, onProgress: setProgress })
    if (signal.aborted) return null
    setProgress(null)
    if ('image' in done) return done.image
    toast('refusal' in done ? refusalText(done.refusal) : failureText(done.error))
    return null
  }
  return [upload, progress]
}
