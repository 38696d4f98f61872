import { useState } from 'react'

import type { UserError } from '@/api/errors'
import { userErrorFor, useApiMutation } from '@/api/useApiMutation'
import { useSeconds } from '@/app/clock'
import { Form, useFieldErrors, invalidField } from '@/forms/Form'
import { parseDigits } from '@/forms/number'
import { texts } from '@/i18n/texts'
import { Button } from '@/ui/Button'
import { Field } from '@/ui/Field'
import { toast } from '@/ui/toast'

import css from './EditMe.module.css'
import { SendPasswordCodeDocument, SetPasswordDocument } from './password.gql'

const useTexts = texts(
  {
    password: 'Password',
    why: 'Set a password to sign in without a code. Your other devices will be signed out.',
    current: 'Current password',
    currentWrong: 'Wrong password, or too many attempts. Try again, or use a code.',
    useCode: 'Use a code instead',
    usePassword: 'Use your current password instead',
    phone: 'Your phone number',
    send: 'Send code',
    again: (seconds: number) => `Resend in ${seconds} s`,
    sent: 'Code sent.',
    code: 'Code',
    codeBounds: 'Enter the 6-digit code.',
    newPassword: 'New password',
    bounds: '8 to 128 characters. Don’t use a common password or a phone number.',
    set: 'Set password',
    done: 'Password set.',
  },
  {
    password: '密码',
    why: '设置密码后，无需验证码即可登录。其他设备将退出登录。',
    current: '当前密码',
    currentWrong: '当前密码不正确，或尝试次数过多。请重试或使用验证码。',
    useCode: '改用验证码',
    usePassword: '改用当前密码',
    phone: '你的手机号',
    send: '获取验证码',
    again: (seconds) => `${seconds} 秒后可重新获取`,
    sent: '验证码已发送。',
    code: '验证码',
    codeBounds: '请输入 6 位验证码。',
    newPassword: '新密码',
    bounds: '8 到 128 个字符，不能是常见密码或手机号。',
    set: '设置密码',
    done: '密码已设置。',
  },
)

const pause = 60 // seconds between two codes

/** Sets the password, confirmed by the current password or a code sent to the viewer's phone. */
export function Password() {
  const t = useTexts()
  const [set, setting] = useApiMutation(SetPasswordDocument, { toastErrors: false })
  const [sendCode, sending] = useApiMutation(SendPasswordCodeDocument, { toastErrors: false })
  const [byCode, setByCode] = useState(false)
  const [proof, setProof] = useState('')
  const [phone, setPhone] = useState('')
  const [password, setPassword] = useState('')
  const [sentAt, setSentAt] = useState(-Infinity)
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const errorAt = useFieldErrors(userErrors)
  const now = useSeconds()
  const wait = Math.ceil(sentAt + pause - now)

  const prove = (withCode: boolean) => {
    setByCode(withCode)
    setProof('')
  }
  const send = async () => {
    const result = await sendCode({ phone })
    setUserErrors(result.ok ? [] : result.userErrors)
    if (!result.ok) return
    setSentAt(now)
    toast(t.sent)
  }
  const save = async () => {
    const code = parseDigits(proof)
    if (byCode && code?.length !== 6) {
      setUserErrors([invalidField('code')])
      return
    }
    const result = await set({ password, ...(byCode ? { code } : { currentPassword: proof }) })
    setUserErrors(result.ok ? [] : result.userErrors)
    if (!result.ok) {
      // An account without a password needs a code.
      if (!byCode && userErrorFor(result.userErrors, 'code')) prove(true)
      return
    }
    setPassword('')
    setProof('')
    toast(t.done)
  }

  return (
    <section className={css.password} aria-labelledby="password">
      <h2 id="password">{t.password}</h2>
      <p className={css.why}>{t.why}</p>
      <Form
        label={t.password}
        userErrors={userErrors}
        fields={['password', 'currentPassword', 'code', ...(byCode ? ['phone'] : [])]}
        onSubmit={() => void save()}
      >
        {byCode ? (
          <>
            <Field
              label={t.phone}
              error={errorAt('phone')}
              type="tel"
              inputMode="tel"
              autoComplete="tel"
              value={phone}
              onChange={(event) => setPhone(event.target.value)}
            />
            <Button
              kind="quiet"
              busy={sending}
              disabled={wait > 0 || phone.trim() === ''}
              onClick={() => void send()}
            >
              {wait > 0 ? t.again(wait) : t.send}
            </Button>
            <Field
              key="code"
              label={t.code}
              error={errorAt('code', t.codeBounds)}
              inputMode="numeric"
              autoComplete="one-time-code"
              value={proof}
              onChange={(event) => setProof(event.target.value)}
            />
          </>
        ) : (
          <Field
            key="current"
            label={t.current}
            error={errorAt('currentPassword') && t.currentWrong}
            type="password"
            autoComplete="current-password"
            value={proof}
            onChange={(event) => setProof(event.target.value)}
          />
        )}
        <Button kind="plain" onClick={() => prove(!byCode)}>
          {byCode ? t.usePassword : t.useCode}
        </Button>
        <Field
          label={t.newPassword}
          hint={t.bounds}
          error={errorAt('password', t.bounds)}
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" kind="quiet" wide busy={setting}>
          {t.set}
        </Button>
      </Form>
    </section>
  )
}
