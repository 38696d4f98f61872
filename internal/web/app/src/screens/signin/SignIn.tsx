import { useEffect, useState, type FormEvent } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'

import { useUserErrorText, type UserError } from '@/api/errors'
import type { LoginInput } from '@/api/types.gql'
import { userErrorFor, useApiMutation } from '@/api/useApiMutation'
import { useSeconds } from '@/app/clock'
import { useFocusOnError, invalidField } from '@/forms/Form'
import { parseDigits } from '@/forms/number'
import { isolate } from '@/i18n/isolate'
import { texts } from '@/i18n/texts'
import { demoLogins, type DemoLogin } from '@/session/demo'
import { returnPath } from '@/session/returnPath'
import { begin, useSession } from '@/session/session'
import { Button } from '@/ui/Button'
import { Field } from '@/ui/Field'
import { Screen } from '@/ui/Screen'
import { toast } from '@/ui/toast'

import { LoginDocument, SendLoginCodeDocument } from './signin.gql'
import css from './SignIn.module.css'

const useTexts = texts(
  {
    title: 'Sign in',
    intro: 'New here? We’ll create your account.',
    phone: 'Phone number',
    phoneHint: 'With country code, e.g. +44 7700 900123, or 11 digits in mainland China.',
    send: 'Send code',
    again: (seconds: number) => `Resend in ${seconds} s`,
    sent: 'Code sent.',
    code: 'Code',
    codeHint: '6 digits, valid for 5 minutes.',
    codeBounds: 'Enter the 6-digit code.',
    password: 'Password',
    usePassword: 'Use a password instead',
    useCode: 'Use a code instead',
    go: 'Sign in',
    welcome: (name: string) => `Welcome, ${name}!`,
    settings: 'Language and theme',
    demo: 'Try the demo as',
    CUSTOMER: 'Customer',
    MERCHANT: 'Merchant',
    ADMIN: 'Admin',
  },
  {
    title: '登录',
    intro: '未注册的手机号将自动创建账号。',
    phone: '手机号',
    phoneHint: '11 位中国大陆手机号，或带国家代码的号码，如 +44 7700 900123。',
    send: '获取验证码',
    again: (seconds) => `${seconds} 秒后可重新获取`,
    sent: '验证码已发送。',
    code: '验证码',
    codeHint: '6 位数字，5 分钟内有效。',
    codeBounds: '请输入 6 位验证码。',
    password: '密码',
    usePassword: '用密码登录',
    useCode: '用验证码登录',
    go: '登录',
    welcome: (name) => `你好，${name}！`,
    settings: '语言与外观',
    demo: '选择演示身份登录',
    CUSTOMER: '顾客',
    MERCHANT: '商家',
    ADMIN: '管理员',
  },
)

const pause = 60 // seconds between two codes

/** Signs in by code or password and returns to the requested page. */
export function SignIn() {
  const t = useTexts()
  const session = useSession()
  const [, navigate] = useLocation()
  const [params] = useSearchParams()
  const userErrorText = useUserErrorText()
  const [sendCode, sending] = useApiMutation(SendLoginCodeDocument, { toastErrors: false })
  const [login, entering] = useApiMutation(LoginDocument, { toastErrors: false })

  const [byPassword, setByPassword] = useState(false)
  const [phone, setPhone] = useState('')
  const [secret, setSecret] = useState('')
  const [sentAt, setSentAt] = useState(-Infinity)
  const [userErrors, setUserErrors] = useState<readonly UserError[]>([])
  const form = useFocusOnError(userErrors)
  const now = useSeconds()
  const wait = Math.ceil(sentAt + pause - now)

  // Another tab may sign in meanwhile.
  const to = returnPath(params.get('to'), window.location.origin)
  useEffect(() => {
    if (session !== null) navigate(to, { replace: true })
  }, [session, to, navigate])

  const enter = async (input: LoginInput) => {
    const result = await login({ input })
    setUserErrors(result.ok ? [] : result.userErrors)
    const { token, user } = result.value ?? {}
    if (token && user) {
      toast(t.welcome(isolate(user.nickname)))
      begin({ token, userId: user.id })
    }
  }
  const send = async () => {
    setSecret('')
    const result = await sendCode({ phone })
    setUserErrors(result.ok ? [] : result.userErrors)
    if (!result.ok) return
    setSentAt(now)
    toast(t.sent)
    form.current?.querySelector<HTMLInputElement>('[name=code]')?.focus()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (byPassword) {
      void enter({ phone, password: secret })
      return
    }
    // An invalid code would use up one of the few attempts.
    const code = parseDigits(secret)
    if (code?.length === 6) void enter({ phone, code })
    else setUserErrors([invalidField('code')])
  }
  const textOf = (...fields: string[]) => {
    const userError = fields.map((name) => userErrorFor(userErrors, name)).find(Boolean)
    return userError && userErrorText(userError)
  }
  // Errors without a field are shown below all fields.
  const rest = userErrors.filter(
    ({ field }) => !field?.some((f) => ['phone', 'code', 'password'].includes(f)),
  )

  return (
    <Screen title={t.title} backTo="/">
      <form ref={form} className={css.form} onSubmit={submit}>
        <p>{t.intro}</p>
        <Field
          label={t.phone}
          hint={t.phoneHint}
          error={textOf('phone')}
          type="tel"
          inputMode="tel"
          autoComplete="tel"
          required
          value={phone}
          onChange={(event) => setPhone(event.target.value)}
        />
        {byPassword ? (
          <Field
            key="password"
            label={t.password}
            error={textOf('password')}
            type="password"
            autoComplete="current-password"
            required
            value={secret}
            onChange={(event) => setSecret(event.target.value)}
          />
        ) : (
          <>
            <Button
              kind="quiet"
              busy={sending}
              disabled={wait > 0 || phone.trim() === ''}
              onClick={send}
            >
              {wait > 0 ? t.again(wait) : t.send}
            </Button>
            <Field
              key="code"
              name="code"
              label={t.code}
              hint={t.codeHint}
              error={
                userErrorFor(userErrors, 'code')?.code === 'INVALID_INPUT'
                  ? t.codeBounds
                  : textOf('code')
              }
              inputMode="numeric"
              autoComplete="one-time-code"
              required
              value={secret}
              onChange={(event) => setSecret(event.target.value)}
            />
          </>
        )}
        {rest.map((userError) => (
          <p key={userError.code} role="alert" className={css.error}>
            {userErrorText(userError)}
          </p>
        ))}
        <Button type="submit" wide busy={entering}>
          {t.go}
        </Button>
        <Button
          kind="plain"
          onClick={() => {
            setByPassword(!byPassword)
            setSecret('')
            setUserErrors([])
          }}
        >
          {byPassword ? t.useCode : t.usePassword}
        </Button>
      </form>
      <p className={css.settings}>
        <Link href="/settings">{t.settings}</Link>
      </p>
      <Demo onChoose={({ phone: number, password }) => void enter({ phone: number, password })} />
    </Screen>
  )
}

function Demo({ onChoose }: { onChoose: (login: DemoLogin) => void }) {
  const t = useTexts()
  const [logins, setLogins] = useState<readonly DemoLogin[]>([])
  useEffect(() => {
    const controller = new AbortController()
    void demoLogins(controller.signal).then(setLogins)
    return () => controller.abort()
  }, [])
  if (logins.length === 0) return null
  return (
    <section className={css.demo}>
      <h2>{t.demo}</h2>
      <div className={css.buttons}>
        {logins.map((login) => (
          <Button key={login.role} kind="quiet" onClick={() => onChoose(login)}>
            {t[login.role]}
          </Button>
        ))}
      </div>
    </section>
  )
}
